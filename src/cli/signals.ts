/** The signals that ask the program to end, as a queue. */
import { createQueue, type Operation, type Queue, resource } from "effection";
import process from "node:process";

const ENDING = ["SIGINT", "SIGTERM"] as const;
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type EndingSignal = typeof ENDING[number];

/**
 * Milliseconds within which a repeated signal counts as the same key press. A terminal sends
 * Ctrl-C to every process in the foreground, and a parent such as `deno task` forwards its own
 * copy.
 */
const ONE_PRESS = 200;

/**
 * Puts the signals into a queue for as long as the scope lives, instead of letting them end the
 * process. After the scope has ended, a signal that already arrived once stays ignored: the program
 * is about to exit, and a late copy of the same key press must not kill it.
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
        // Add the ignoring listener first: without any listener, the signal kills the process.
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

/** The exit code of a program that a signal ended. */
export function exitCodeOf(signal: EndingSignal): number {
  return 128 + NUMBERS[signal];
}
