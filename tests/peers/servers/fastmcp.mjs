/** A server made with FastMCP, on the port in PORT. */
import process from "node:process";
import { FastMCP } from "fastmcp";
import { z } from "zod";

const server = new FastMCP({ name: "fastmcp", version: "1.0.0" });
server.addTool({
  name: "book",
  description: "Books a room.",
  parameters: z.object({ beds: z.number() }),
  async execute({ beds }, { elicit, reportProgress }) {
    await reportProgress({ progress: 1, total: 2 });
    const answer = await elicit({
      message: `A room with ${beds} beds?`,
      requestedSchema: {
        type: "object",
        properties: { guest: { type: "string" }, breakfast: { type: "boolean" } },
        required: ["guest", "breakfast"],
      },
    });
    if (answer.action !== "accept") return `Not booked: ${answer.action}`;
    return `Booked for ${answer.content.guest}, breakfast: ${answer.content.breakfast}`;
  },
});
const port = Number(process.env.PORT);
await server.start({
  transportType: "httpStream",
  httpStream: { port, host: "127.0.0.1", endpoint: "/mcp" },
});
console.log(`http://127.0.0.1:${port}/mcp`);
