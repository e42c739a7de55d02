/** A server that is closed when the surrounding scope ends. */
import { type Operation, resource, until } from "effection";
import { StoreError } from "../model/errors.ts";
import { createParley, type Parley, type ParleyOptions } from "../parley.ts";
import { Problem } from "./problem.ts";

export function useParley(options: ParleyOptions): Operation<Parley> {
  return resource(function* (provide) {
    const parley = made(options);
    try {
      yield* provide(parley);
    } finally {
      yield* until(parley.close());
    }
  });
}

/** A store whose key is not there is for the operator to mend. */
function made(options: ParleyOptions): Parley {
  try {
    return createParley(options);
  } catch (error) {
    throw error instanceof StoreError ? new Problem(error.message) : error;
  }
}
