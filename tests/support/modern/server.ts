/** A server for one test of the modern era: time stands still, and all that it sends is checked. */
import assert from "node:assert/strict";
import { createManualClock, createParley, type Fault, type Parley } from "parley-mcp";
import type { ManualClock, ParleyOptions } from "parley-mcp";
import type { Fetch } from "../legacy/watch.ts";
import { ModernWatch } from "./watch.ts";

export interface ModernServer {
  readonly parley: Parley;
  readonly clock: ManualClock;
  /** As a host would call it, under watch. */
  readonly fetch: Fetch;
  /** What the operator was told. A test that leaves some behind fails. */
  readonly faults: Fault[];
  readonly watch: ModernWatch;
}

/** Runs `body` with a server of its own, closes it, and looks whether it left anything behind. */
export async function servingModern(
  options: ParleyOptions,
  body: (server: ModernServer) => Promise<void>,
): Promise<void> {
  // Out of the step of Effection's that the test was called in: hosts call from outside.
  await Promise.resolve();
  const clock = createManualClock();
  const faults: Fault[] = [];
  const report = (fault: Fault) => void faults.push(fault);
  const parley = createParley({ clock, report, ...options });
  const watch = new ModernWatch();
  try {
    await body({ parley, clock, fetch: watch.over(parley.fetch), faults, watch });
  } finally {
    await parley.close();
  }
  assert.deepEqual(watch.complaints, []);
  assert.deepEqual(faults, []);
  assert.deepEqual(parley.counts, { live: 0, finished: 0, streams: 0, clientSessions: 0 });
  if (!options.clock) assert.equal(clock.timers, 0, "a timer is still set");
}
