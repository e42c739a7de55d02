/**
 * What a client carries from one round of a call to the next.
 *
 * It is sealed, so nobody can read it or make one up, and it is good for one
 * call of one caller with the same arguments, until it expires.
 */
import type { JsonObject } from "../../content.ts";
import { nodeCrypto } from "../../session/node-crypto.ts";
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

/**
 * Bound by the seal itself: opened in another context, it does not open. Only what
 * a run depends on counts, and arguments that are left out are none.
 */
function contextOf({ principal, method, params }: StateBinding): string {
  const { name, uri, arguments: args = {} } = params;
  const call = canonical([method, name, uri, args]);
  const digest = nodeCrypto().createHash("sha256").update(call).digest("base64url");
  return `request state\0${principal}\0${digest}`;
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
