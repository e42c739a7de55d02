/** The signals that ask a program to end, one after the other. */
import { createQueue, type Operation, type Queue, resource } from "effection";
import process from "node:process";

const ENDING = ["SIGINT", "SIGTERM"] as const;
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type EndingSignal = typeof ENDING[number];

/**
 * Milliseconds within which the same signal is the same press of a key. A terminal sends
 * Ctrl-C to everybody in the foreground, and what started us, such as `deno task`, passes
 * on what it got itself.
 */
const ONE_PRESS = 200;

/**
 * While this lives, the signals end nothing by themselves. A signal that came keeps being
 * ignored afterwards: the program is on its way to its exit, and whoever passes the same
 * press on a little later must not kill it before it gets there.
 */
export function useSignals(
  now: () => number = () => performance.now(),
): Operation<Pick<Queue<EndingSignal, never>, "next">> {
  return resource(function* (provide) {
    const queue = createQueue<EndingSignal, never>();
    const seen = new Map<EndingSignal, number>();
    const take = (signal: EndingSignal) => {
      const [before, at] = [seen.get(signal), now()];
      seen.set(signal, at);
      if (before === undefined || at - before >= ONE_PRESS) queue.add(signal);
    };
    const listeners = ENDING.map((signal) => [signal, () => take(signal)] as const);
    for (const [signal, listener] of listeners) process.on(signal, listener);
    try {
      yield* provide(queue);
    } finally {
      for (const [signal, listener] of listeners) {
        // Ignore before the listener goes: without any, the signal kills at once.
        if (seen.has(signal)) ignoreFromNowOn(signal);
        process.off(signal, listener);
      }
    }
  });
}

function ignoreFromNowOn(signal: EndingSignal): void {
  if (!process.listeners(signal).includes(ignore)) process.on(signal, ignore);
}

function ignore(): void {}

/** The code of a program that ended because of a signal. */
export function exitCodeOf(signal: EndingSignal): number {
  return 128 + NUMBERS[signal];
}
