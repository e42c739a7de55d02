/** Parley over HTTP, with a hundred thousand calls parked. */
import process from "node:process";
import { listen } from "../../src/host/listen.ts";
import { createParley } from "../../src/mod.ts";
import { serve } from "./tools.ts";

const PARKED = 100_000;

const parley = createParley({ serve, maxSessions: 2 * PARKED });
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};
for (let id = 0; id < PARKED; id++) {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "ask", _meta },
  });
  const response = await parley.fetch(
    new Request("http://127.0.0.1/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "content-length": String(body.length),
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "ask",
      },
      body,
    }),
  );
  const { result } = await response.json();
  if (result?.resultType !== "input_required") throw new Error("Cannot park: no question came");
}
if (parley.counts.live !== PARKED) {
  console.error(`Cannot park ${PARKED} calls: there are ${parley.counts.live}`);
  process.exit(1);
}
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
console.log(port);
