/** A clock that moves only when it is told to. */
import type { Clock } from "../lib/clock.ts";

/** A clock that a test moves by hand: time passes when it says so, and at no other time. */
export interface ManualClock extends Clock {
  /** Moves time forward and fires, in order, everything that falls due on the way. */
  advance(ms: number): void;
  /** Moves time to the next thing that falls due; false if there is none. */
  advanceToNext(): boolean;
  /** How many timers are set. */
  readonly timers: number;
}

/**
 * Makes a clock that stands still until it is told to move. It starts at `start`,
 * which is some Sunday unless told.
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
