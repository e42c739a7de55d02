/** A clock that tests move by hand. */
import type { Clock } from "../lib/clock.ts";

/** A clock that a test moves by hand. Time does not pass by itself. */
export interface ManualClock extends Clock {
  /** Moves time forward by `ms` milliseconds and fires the timers that become due, in order. */
  advance(ms: number): void;
  /** Moves time to the next timer and fires it. Returns false if no timer is set. */
  advanceToNext(): boolean;
  /** How many timers are set. */
  readonly timers: number;
}

/**
 * Creates a clock that a test moves by hand. It starts at `start`; default: 4 January 2026, UTC.
 *
 * @example
 * ```ts
 * import { createManualClock } from "parley-mcp";
 *
 * const clock = createManualClock();
 * clock.after(60_000, () => console.log("a minute has passed"));
 * clock.advance(60_000);
 * ```
 */
export function createManualClock(start = Date.UTC(2026, 0, 4)): ManualClock {
  let now = start;
  const timers = new Set<{ at: number; fire: () => void }>();
  const earliest = () => {
    let first: { at: number; fire: () => void } | undefined;
    for (const timer of timers) if (!first || timer.at < first.at) first = timer;
    return first;
  };
  const fire = (timer: { at: number; fire: () => void }) => {
    timers.delete(timer);
    now = Math.max(now, timer.at);
    timer.fire();
  };
  return {
    now: () => now,
    after(ms, fire) {
      const timer = { at: now + ms, fire };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      const end = now + ms;
      for (let next = earliest(); next && next.at <= end; next = earliest()) fire(next);
      now = end;
    },
    advanceToNext() {
      const next = earliest();
      if (next) fire(next);
      return next !== undefined;
    },
    get timers() {
      return timers.size;
    },
  };
}
