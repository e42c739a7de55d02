/** A server made with tmcp, on a free port. */
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { z } from "zod";

const server = new McpServer(
  { name: "tmcp", version: "1.0.0", description: "Rooms" },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
);
server.tool(
  {
    name: "book",
    description: "Books a room.",
    schema: z.object({ beds: z.number() }),
    replayable: true,
  },
  async ({ beds }) => {
    const form = z.object({ guest: z.string(), breakfast: z.boolean() });
    const answer = await server.elicitation(`A room with ${beds} beds?`, form);
    const text = answer.action === "accept"
      ? `Booked for ${answer.content.guest}, breakfast: ${answer.content.breakfast}`
      : `Not booked: ${answer.action}`;
    return { content: [{ type: "text", text }] };
  },
);
const transport = new HttpTransport(server);
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: async (request) => await transport.respond(request) ?? new Response(null, { status: 404 }),
});
console.log(`http://127.0.0.1:${port}/mcp`);
