/** What the servers of both eras share: a manual clock, faults that are kept, and a check at the end. */
import assert from "node:assert/strict";
import { createManualClock, createParley, type Fault, type Parley } from "parley-mcp";
import type { ManualClock, ParleyOptions } from "parley-mcp";
import type { Fetch } from "./exchange.ts";

export interface WatchedServer<W> {
  readonly parley: Parley;
  readonly clock: ManualClock;
  /** The server's handler, under watch. */
  readonly fetch: Fetch;
  /** What was reported to the operator. A test that leaves faults behind fails. */
  readonly faults: Fault[];
  readonly watch: W;
}

interface Watching {
  over(fetch: Fetch): Fetch;
}

/** Runs `body` with a server of its own, closes it, and checks that nothing is left. */
export async function serveWatched<W extends Watching>(
  options: ParleyOptions,
  watch: W,
  body: (server: WatchedServer<W>) => Promise<void>,
  complaints: () => Promise<string[]>,
): Promise<void> {
  const clock = createManualClock();
  const faults: Fault[] = [];
  const report = (fault: Fault) => void faults.push(fault);
  const parley = createParley({ clock, report, ...options });
  try {
    await body({ parley, clock, fetch: watch.over(parley.fetch), faults, watch });
  } finally {
    await parley.close();
  }
  assert.deepEqual(await complaints(), []);
  assert.deepEqual(faults, []);
  assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
  if (!options.clock) assert.equal(clock.timers, 0, "a timer is still set");
}
