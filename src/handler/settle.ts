/** Runs an operation, and tells its outcome at once if it did not have to wait. */
import type { Operation, Scope } from "effection";
import { RegistryClosed } from "../errors.ts";
import { Strand } from "../runtime/strand.ts";

export type Settled<T> = { readonly ok: true; readonly value: T } | {
  readonly ok: false;
  readonly error: unknown;
};

export function settle<T>(
  scope: Scope,
  operation: () => Operation<T>,
): Settled<T> | Promise<Settled<T>> {
  let settled: Settled<T> | undefined;
  let resolve: ((settled: Settled<T>) => void) | undefined;
  new Strand(scope, operation, (outcome) => {
    settled = outcome.type === "returned"
      ? { ok: true, value: outcome.value }
      : { ok: false, error: outcome.type === "threw" ? outcome.error : new RegistryClosed() };
    resolve?.(settled);
  }).start();
  return settled ?? new Promise((settle) => resolve = settle);
}
