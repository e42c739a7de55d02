/** The signals that ask a program to end, one after the other. */
import { createQueue, type Operation, type Queue, resource } from "effection";
import process from "node:process";

const ENDING = ["SIGINT", "SIGTERM"] as const;
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type EndingSignal = typeof ENDING[number];

/** While this lives, the signals end nothing by themselves. */
export function useSignals(): Operation<Pick<Queue<EndingSignal, never>, "next">> {
  return resource(function* (provide) {
    const queue = createQueue<EndingSignal, never>();
    const listeners = ENDING.map((signal) => [signal, () => queue.add(signal)] as const);
    for (const [signal, listener] of listeners) process.on(signal, listener);
    try {
      yield* provide(queue);
    } finally {
      for (const [signal, listener] of listeners) process.off(signal, listener);
    }
  });
}

/** The code of a program that ended because of a signal. */
export function exitCodeOf(signal: EndingSignal): number {
  return 128 + NUMBERS[signal];
}
