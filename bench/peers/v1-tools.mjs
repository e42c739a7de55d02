/** The same tools on version 1 of the official SDK. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const EVENTS = 100;
const text = (text) => ({ content: [{ type: "text", text }] });

export function makeServer() {
  const server = new McpServer({ name: "v1", version: "1.0.0" });
  server.registerTool("add", {
    description: "Adds two numbers",
    inputSchema: { a: z.number(), b: z.number() },
  }, ({ a, b }) => text(String(a + b)));
  server.registerTool("ask", {
    description: "Asks for a number",
    inputSchema: {},
  }, async (_args, extra) => {
    const params = {
      mode: "form",
      message: "Which number?",
      requestedSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    };
    const answer = await server.server.elicitInput(params, { relatedRequestId: extra.requestId });
    return text(answer.action === "accept" ? `picked ${answer.content.n}` : answer.action);
  });
  server.registerTool("count", {
    description: "Tells of its progress",
    inputSchema: {},
  }, async (_args, extra) => {
    const { progressToken } = extra._meta ?? {};
    for (let n = 1; n <= EVENTS; n++) {
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken, progress: n, total: EVENTS, message: "counting" },
      });
    }
    return text("counted");
  });
  return server;
}
