/** The only source of the current time, so that tests can move time by hand. */
import { clearTimeout, setTimeout } from "node:timers";

/**
 * The clock of everything that waits. Default: the system's clock. A test passes a clock that it
 * moves by hand, so that no test ever sleeps.
 */
export interface Clock {
  /** Returns the time in milliseconds since the epoch. */
  now(): number;
  /** Calls `fire` once after `ms`. Returns a function that cancels the timer. */
  after(ms: number, fire: () => void): () => void;
}

/** Cancels a timer. */
export interface Timer {
  (): void;
  /** Sets whether the timer keeps the program alive. Default: true. Only system timers have this. */
  matters?(matters: boolean): void;
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, fire) {
    // Delays over 2^31-1 ms would fire immediately. A timer that fires too early is set again.
    const timer = setTimeout(fire, Math.min(ms, 2 ** 31 - 1));
    const cancel: Timer = () => clearTimeout(timer);
    cancel.matters = (matters) => void (matters ? timer.ref() : timer.unref());
    return cancel;
  },
};
