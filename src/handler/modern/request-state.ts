/**
 * What a client carries from one round of a call to the next.
 *
 * It is sealed, so nobody can read it or make one up, and it is good for one
 * call of one caller with the same arguments, until it expires.
 */
import type { JsonObject } from "../../content.ts";
import type { Sealer } from "../../session/sealer.ts";

export interface RequestState {
  readonly sessionId: string;
  /** How far the log had come. */
  readonly lsn: number;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** What a state is bound to. */
export interface StateBinding {
  readonly principal: string;
  readonly method: string;
  readonly params: JsonObject;
}

export function sealState(sealer: Sealer, state: RequestState, binding: StateBinding): string {
  const { sessionId, lsn, expires } = state;
  return sealer.seal(JSON.stringify([sessionId, lsn, expires]), contextOf(binding));
}

/** The state, unless it was touched, has expired, or belongs to another call or caller. */
export function openState(
  sealer: Sealer,
  sealed: unknown,
  binding: StateBinding,
  now: number,
): RequestState | undefined {
  if (typeof sealed !== "string") return undefined;
  const plain = sealer.open(sealed, contextOf(binding));
  if (plain === undefined) return undefined;
  const [sessionId, lsn, expires] = JSON.parse(plain) as [string, number, number];
  return now < expires ? { sessionId, lsn, expires } : undefined;
}

/** A request is looked at twice: what it goes on with, and then how. Its state is opened once. */
export class StateReader {
  readonly #sealer: Sealer;
  /** What the last request carried. */
  #last: { readonly binding: StateBinding; readonly state: RequestState | undefined } | undefined;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  open(sealed: unknown, binding: StateBinding, now: number): RequestState | undefined {
    const last = this.#last;
    if (last?.binding.params === binding.params && last.binding.principal === binding.principal) {
      this.#last = undefined;
      return last.state && now < last.state.expires ? last.state : undefined;
    }
    const state = openState(this.#sealer, sealed, binding, now);
    this.#last = { binding, state };
    return state;
  }
}

/**
 * Bound by the seal itself: opened in another context, it does not open. Only what
 * a run depends on counts, and arguments that are left out are none.
 */
function contextOf({ principal, method, params }: StateBinding): string {
  const { name, uri, arguments: args = {} } = params;
  // As it is rather than as a digest: it is no part of the state, only of what its tag is for.
  return `request state\0${principal}\0${canonical([method, name, uri, args])}`;
}

/** JSON in which the order of keys does not matter. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const entries = Object.entries(value)
    .filter(([, entry]) => entry !== undefined)
    .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`);
  return `{${entries.join(",")}}`;
}
