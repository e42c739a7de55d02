/** A server for one test: time stands still, faults are kept, and all that it sends is checked. */
import assert from "node:assert/strict";
import { createManualClock, createParley, type Fault, type Parley } from "parley-mcp";
import type { ManualClock, ParleyOptions } from "parley-mcp";
import { type Fetch, Watch } from "./watch.ts";

export interface TestServer {
  readonly parley: Parley;
  readonly clock: ManualClock;
  /** As a host would call it, under watch. */
  readonly fetch: Fetch;
  /** What the operator was told. A test that leaves some behind fails. */
  readonly faults: Fault[];
  readonly watch: Watch;
}

/** Runs `body` with a server of its own, closes it, and looks whether it left anything behind. */
export async function serving(
  options: ParleyOptions,
  body: (server: TestServer) => Promise<void>,
): Promise<void> {
  const clock = createManualClock();
  const faults: Fault[] = [];
  const report = (fault: Fault) => void faults.push(fault);
  const parley = createParley({ clock, report, ...options });
  const watch = new Watch();
  const server: TestServer = { parley, clock, fetch: watch.over(parley.fetch), faults, watch };
  try {
    await body(server);
  } finally {
    await parley.close();
  }
  assert.deepEqual(await watch.complaints(), []);
  assert.deepEqual(faults, []);
  assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
  if (!options.clock) assert.equal(clock.timers, 0, "a timer is still set");
}
