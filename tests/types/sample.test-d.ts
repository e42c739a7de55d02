// A promise to the compiler: each line marked @ts-expect-error must not compile,
// and everything else must. Checked, never run.
import type { Operation } from "effection";

function* answer(): Operation<number> {
  return 42;
}

export function* asks(): Operation<void> {
  const value: number = yield* answer();
  // @ts-expect-error an operation keeps the type of its value
  const text: string = yield* answer();
  void [value, text];
}
