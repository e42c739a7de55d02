/** A server made with mcp-use, on a free port. */
import { acceptedContent, inputRequired, MCPServer } from "mcp-use";
import { z } from "zod";

const server = new MCPServer({ name: "mcp-use", version: "1.0.0" });
server.tool(
  { name: "book", description: "Books a room.", inputSchema: z.object({ beds: z.number() }) },
  ({ beds }, ctx) => {
    const content = acceptedContent(ctx.inputResponses, "who");
    const text = content
      ? `Booked for ${content.guest}, breakfast: ${content.breakfast}`
      : `Not booked: ${ctx.inputResponses?.who?.action}`;
    if (ctx.inputResponses?.who) return { content: [{ type: "text", text }] };
    return inputRequired({
      inputRequests: {
        who: inputRequired.elicit({
          message: `A room with ${beds} beds?`,
          requestedSchema: {
            type: "object",
            properties: { guest: { type: "string" }, breakfast: { type: "boolean" } },
            required: ["guest", "breakfast"],
          },
        }),
      },
    });
  },
);
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: (request) => server.fetch(request),
});
console.log(`http://127.0.0.1:${port}/mcp`);
