/** The same tools on version 2 of the official SDK. */
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const EVENTS = 100;
const form = z.object({ n: z.number() });
const text = (text) => ({ content: [{ type: "text", text }] });

export function makeServer() {
  const server = new McpServer({ name: "v2", version: "1.0.0" });
  server.registerTool("add", {
    description: "Adds two numbers",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
  }, ({ a, b }) => text(String(a + b)));
  // Without a requestState, which this tool does not need: that is the cheapest way.
  server.registerTool("ask", {
    description: "Asks for a number",
    inputSchema: z.object({}),
  }, (_args, ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "pick", form);
    if (answer) return text(`picked ${answer.n}`);
    return inputRequired({
      inputRequests: {
        pick: inputRequired.elicit({ message: "Which number?", requestedSchema: form }),
      },
    });
  });
  server.registerTool("count", {
    description: "Tells of its progress",
    inputSchema: z.object({}),
  }, async (_args, ctx) => {
    const { progressToken } = ctx.mcpReq._meta ?? {};
    for (let n = 1; n <= EVENTS; n++) {
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: n, total: EVENTS, message: "counting" },
      });
    }
    return text("counted");
  });
  return server;
}
