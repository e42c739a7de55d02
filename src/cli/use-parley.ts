/** A server that is closed when the surrounding scope ends. */
import { type Operation, resource, until } from "effection";
import { createParley, type Parley, type ParleyOptions } from "../parley.ts";

export function useParley(options: ParleyOptions): Operation<Parley> {
  return resource(function* (provide) {
    const parley = createParley(options);
    try {
      yield* provide(parley);
    } finally {
      yield* until(parley.close());
    }
  });
}
