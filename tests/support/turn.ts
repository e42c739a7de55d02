/** Runs everything that is due already, such as a stream asking for its next chunk. */
import { setImmediate } from "node:timers";

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Lets turns of the event loop pass until a condition holds: a few turns, never a matter of time.
 */
export async function until(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    if (turns > 1_000) throw new Error(`Waited for nothing: ${isSo}`);
    await turn();
  }
}

/**
 * Lets turns pass until the other end of a real socket has noticed something, which depends on
 * that end alone; otherwise the test's time limit ends the wait.
 */
export async function noticed(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

/** As many turns as anything here could need, to show that nothing happens. */
export async function idle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}
