/** Starts an operation. Its outcome is available synchronously if it did not have to wait. */
import type { Operation, Scope } from "effection";
import { Strand, type StrandOutcome } from "./strand.ts";

export interface StartedOperation<T> {
  /** The outcome of the operation. Undefined until the operation has ended. */
  readonly outcome: StrandOutcome<T> | undefined;
  /** Resolves to the outcome when the operation has ended. */
  ended(): Promise<StrandOutcome<T>>;
  /** Halts the operation. Its outcome then has the type `halted`. */
  halt(): void;
}

export function startOperation<T>(
  scope: Scope,
  operation: () => Operation<T>,
): StartedOperation<T> {
  let outcome: StrandOutcome<T> | undefined;
  let resolve: ((outcome: StrandOutcome<T>) => void) | undefined;
  const strand = new Strand<T>(scope, operation, (ended) => {
    outcome = ended;
    resolve?.(ended);
  });
  strand.start();
  return {
    get outcome() {
      return outcome;
    },
    ended: () =>
      outcome
        ? Promise.resolve(outcome)
        : new Promise((startOperation) => resolve = startOperation),
    halt: () => strand.halt(),
  };
}
