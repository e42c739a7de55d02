import { action, type Operation } from "effection";
import type { Deadlines } from "../lib/deadlines.ts";

/** Waits until `ms` have passed on the clock that all deadlines share. */
export function deadline(deadlines: Deadlines, ms: number): Operation<undefined> {
  return action<undefined>((resolve) => {
    const due = deadlines.add(ms, () => resolve(undefined));
    return () => due.cancel();
  });
}
