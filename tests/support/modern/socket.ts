/** A server on a socket of its own, for clients of whatever era, for as long as a test runs. */
import assert from "node:assert/strict";
import { createParley, type Fault, type Parley, type ParleyOptions } from "parley-mcp";
import { listen } from "../../../src/platform/listen.ts";

export async function onAnySocket(
  options: ParleyOptions,
  body: (url: string, parley: Parley) => Promise<void>,
): Promise<void> {
  const faults: Fault[] = [];
  const parley = createParley({ report: (fault) => void faults.push(fault), ...options });
  const listening = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
  try {
    await body(`http://127.0.0.1:${listening.port}/mcp`, parley);
  } finally {
    await parley.close();
    await listening.stop();
  }
  assert.deepEqual(faults, []);
  assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
}
