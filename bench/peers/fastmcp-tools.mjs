/** The same tools on fastmcp. */
import { FastMCP } from "fastmcp";
import { z } from "zod";

const EVENTS = 100;

// Otherwise it logs to stdout.
const quiet = { debug() {}, error() {}, info() {}, log() {}, warn() {} };

export function makeServer() {
  const server = new FastMCP({ name: "fastmcp", version: "1.0.0", logger: quiet });
  server.addTool({
    name: "add",
    description: "Adds two numbers",
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => await String(a + b),
  });
  server.addTool({
    name: "ask",
    description: "Asks for a number",
    execute: async (_args, { elicit }) => {
      const answer = await elicit({
        message: "Which number?",
        requestedSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      });
      return answer.action === "accept" ? `picked ${answer.content.n}` : answer.action;
    },
  });
  server.addTool({
    name: "count",
    description: "Tells of its progress",
    execute: async (_args, { reportProgress }) => {
      for (let n = 1; n <= EVENTS; n++) {
        await reportProgress({ progress: n, total: EVENTS, message: "counting" });
      }
      return "counted";
    },
  });
  return server;
}
