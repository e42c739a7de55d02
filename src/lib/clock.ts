/** The only source of the current time, so that tests can move time by hand. */
import { clearTimeout, setTimeout } from "node:timers";

/**
 * The clock for all timers and timestamps. Default: the system's clock. A test can pass a clock
 * that it moves by hand, so that no test needs to sleep.
 */
export interface Clock {
  /** Returns the time in milliseconds since the epoch. */
  now(): number;
  /** Calls `fire` once after `ms`. Returns a function that cancels the timer. */
  after(ms: number, fire: () => void): () => void;
}

/** The function that cancels a timer. */
export interface Timer {
  (): void;
  /**
   * Sets whether the timer keeps the program alive. Default: true. Only timers of the system's
   * clock have this method.
   */
  matters?(matters: boolean): void;
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, fire) {
    // `setTimeout` fires immediately for delays over 2^31-1 ms. A capped timer fires too early, and
    // `Deadlines` then sets it again.
    const timer = setTimeout(fire, Math.min(ms, 2 ** 31 - 1));
    const cancel: Timer = () => clearTimeout(timer);
    cancel.matters = (matters) => void (matters ? timer.ref() : timer.unref());
    return cancel;
  },
};
