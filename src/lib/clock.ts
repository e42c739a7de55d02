/** The only place that asks what time it is, so that tests can move time by hand. */
import { clearTimeout, setTimeout } from "node:timers";

/**
 * What tells the time to everything that waits. The system's own is used unless told;
 * a test passes one that it moves by hand, so that no test ever sleeps.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fire` once after `ms`; the function that comes back takes it back. */
  after(ms: number, fire: () => void): () => void;
}

/** Takes a timer back. */
export interface Timer {
  (): void;
  /** Whether the program is to go on for its sake; it is, unless told. Only the system's own can. */
  matters?(matters: boolean): void;
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, fire) {
    // Longer delays than 2^31-1 ms fire at once; whoever asked looks at the clock again.
    const timer = setTimeout(fire, Math.min(ms, 2 ** 31 - 1));
    const cancel: Timer = () => clearTimeout(timer);
    cancel.matters = (matters) => void (matters ? timer.ref() : timer.unref());
    return cancel;
  },
};
