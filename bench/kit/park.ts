/** Calls of modern clients that ask a question and get no answer. */
import type { Parley } from "../../src/mod.ts";

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
};
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};

/** Calls a tool this many times, as a client would, and answers none of its questions. */
export async function park(parley: Parley, name: string, many: number): Promise<void> {
  for (let id = 0; id < many; id++) {
    const params = { name, _meta };
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
    const response = await parley.fetch(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        headers: { ...HEADERS, "content-length": String(body.length), "mcp-name": name },
        body,
      }),
    );
    const { result } = await response.json();
    if (result?.resultType !== "input_required") throw new Error("Cannot park: no question came");
  }
  const { live } = parley.counts;
  if (live !== many) throw new Error(`Cannot park ${many} calls: there are ${live}`);
}
