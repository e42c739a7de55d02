/** A server on its own socket, for clients of either era, for as long as a test runs. */
import assert from "node:assert/strict";
import { createParley, type Fault, type Parley, type ParleyOptions } from "parley-mcp";
import { listen } from "../../src/platform/listen.ts";
import type { Fetch } from "./exchange.ts";
import { Watch } from "./legacy/watch.ts";

/** Serves `options` on a free port, runs `body`, and checks that nothing is left. */
export async function onSocket(
  options: ParleyOptions,
  body: (url: string, parley: Parley) => Promise<void>,
  wrap: (fetch: Fetch) => Fetch = (fetch) => fetch,
): Promise<void> {
  const faults: Fault[] = [];
  const parley = createParley({ report: (fault) => void faults.push(fault), ...options });
  const listening = await listen(wrap(parley.fetch), { port: 0, hostname: "127.0.0.1" });
  try {
    await body(`http://127.0.0.1:${listening.port}/mcp`, parley);
  } finally {
    await parley.close();
    await listening.stop();
  }
  assert.deepEqual(faults, []);
  assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
}

/** As `onSocket()`, and checks every message against the client's legacy revision. */
export async function onLegacySocket(
  options: ParleyOptions,
  body: (server: { url: string; origin: string; parley: Parley; watch: Watch }) => Promise<void>,
): Promise<void> {
  const watch = new Watch();
  await onSocket(
    options,
    (url, parley) => body({ url, origin: new URL(url).origin, parley, watch }),
    (fetch) => watch.over(fetch),
  );
  assert.deepEqual(await watch.complaints(), []);
}
