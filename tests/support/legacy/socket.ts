/** A server on a socket of its own, under watch, for as long as a test runs. */
import assert from "node:assert/strict";
import { createParley, type Fault, type Parley, type ParleyOptions } from "parley-mcp";
import { listen } from "../../../src/platform/listen.ts";
import { Watch } from "./watch.ts";

export interface SocketServer {
  readonly url: string;
  readonly origin: string;
  readonly parley: Parley;
  readonly watch: Watch;
  readonly faults: Fault[];
}

export async function onSocket(
  options: ParleyOptions,
  body: (server: SocketServer) => Promise<void>,
): Promise<void> {
  const faults: Fault[] = [];
  const parley = createParley({ report: (fault) => void faults.push(fault), ...options });
  const watch = new Watch();
  const listening = await listen(watch.over(parley.fetch), { port: 0, hostname: "127.0.0.1" });
  const origin = `http://127.0.0.1:${listening.port}`;
  try {
    await body({ url: `${origin}/mcp`, origin, parley, watch, faults });
  } finally {
    await parley.close();
    await listening.stop();
  }
  assert.deepEqual(await watch.complaints(), []);
  assert.deepEqual(faults, []);
  assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
}
