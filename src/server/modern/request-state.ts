/**
 * What a client carries from one round of a call to the next.
 *
 * It is sealed, so nobody can read it or make one up, and it is good for one
 * call of one caller with the same arguments, until it expires.
 *
 * It names the session, which is here or in a store. For a tool that allows it,
 * the whole record of the session travels in it instead, so that any server with
 * the same key can go on.
 */
import type { JsonObject } from "../../model/content.ts";
import type { PortableRecord } from "../../registry/portable-record.ts";
import { packRecord, unpackRecord } from "../../registry/portable-record.ts";
import type { Sealer } from "../../lib/sealer.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";

export interface RequestState {
  readonly sessionId: string;
  /** How far the log had come. */
  readonly lsn: number;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** The record of the session, where it travels with the client. */
  readonly record?: PortableRecord;
}

/** What a state is bound to. */
export interface StateBinding {
  readonly principal: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** Begins a state that is no JSON: what follows is packed. */
const PACKED = 1;

export function sealState(sealer: Sealer, state: RequestState, context: string): string {
  const { sessionId, lsn, expires, record } = state;
  const plain = record
    ? packRecord(PACKED, [sessionId, lsn, expires, record])
    : JSON.stringify([sessionId, lsn, expires]);
  return sealer.seal(plain, context);
}

/** Characters that a state with a record in it may take. */
const LONGEST = 64 * 1024;

/** A state that carries the record of its session, if that travels, and is small enough to. */
function carriedState(
  sealer: Sealer,
  session: LiveToolSession,
  state: RequestState,
  context: string,
): string | undefined {
  if (!session.portable || !session.replayable) return undefined;
  const { createdAt, log, tool, seed } = session;
  // A log that has forgotten its beginning is too large as well.
  if (log.firstLSN === 1) {
    const { version } = tool.durable!;
    const record = { createdAt, version, events: log.after(0), ...(seed && { seed }) };
    const sealed = sealState(sealer, { ...state, record }, context);
    if (sealed.length <= LONGEST) return sealed;
  }
  pin(session);
  return undefined;
}

/** Its record cannot travel any more: it stays here, and goes with this server. */
function pin(session: LiveToolSession): void {
  session.stayHere();
  const { toolName, id: sessionId } = session;
  const why = `its record takes more than ${LONGEST / 1024} KiB`;
  const error = new Error(`Cannot let the client carry it: ${why}; only this server can go on`);
  session.report({ what: "its record stays here", toolName, sessionId, error });
}

/** The state, unless it was touched, has expired, or belongs to another call or caller. */
export function openState(
  sealer: Sealer,
  sealed: unknown,
  context: string,
  now: number,
): RequestState | undefined {
  if (typeof sealed !== "string") return undefined;
  const plain = sealer.openBytes(sealed, context);
  if (plain === undefined) return undefined;
  const parts = plain[0] === PACKED ? unpackRecord(plain) : JSON.parse(plain.toString("utf8"));
  const [sessionId, lsn, expires, record] = parts as [string, number, number, PortableRecord?];
  return now < expires ? { sessionId, lsn, expires, ...(record && { record }) } : undefined;
}

/** A state that this server has handed out, and what it was bound to. */
interface Issued {
  readonly sealed: string;
  readonly state: RequestState;
  readonly context: string;
}

/** How many of the states handed out last are known again without being opened. */
const MOST_KNOWN = 1_024;
/** Characters of what such a state is bound to. Arguments may be long. */
const LONGEST_KNOWN = 1_024;

/**
 * The states of one server: those that it hands out, and those that come back.
 *
 * Most come back soon, to the server that sealed them. One that is the same to the
 * letter, for the same call, needs not be opened to know what is in it, and opening
 * costs more than all else that a retry does.
 */
export class States {
  readonly #sealer: Sealer;
  readonly #known = new Map<string, Issued>();
  /** The same, in the order in which they were handed out; the oldest is written over. */
  readonly #order: Issued[] = [];
  #next = 0;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Seals a state, which takes the record of its session along, if that travels. */
  seal(session: LiveToolSession, state: RequestState, binding: StateBinding): SealedState {
    const context = contextOf(binding);
    const record = carriedState(this.#sealer, session, state, context);
    if (record !== undefined) return { requestState: record, carried: true };
    const sealed = sealState(this.#sealer, state, context);
    if (context.length <= LONGEST_KNOWN) this.#remember({ sealed, state, context });
    return { requestState: sealed, carried: false };
  }

  open(sealed: unknown, binding: StateBinding, now: number): RequestState | undefined {
    const context = contextOf(binding);
    const issued = this.#known.get(sealed as string);
    if (!issued) return openState(this.#sealer, sealed, context, now);
    return issued.context === context && now < issued.state.expires ? issued.state : undefined;
  }

  #remember(issued: Issued): void {
    const oldest = this.#order[this.#next];
    if (oldest) this.#known.delete(oldest.sealed);
    this.#order[this.#next] = issued;
    this.#known.set(issued.sealed, issued);
    this.#next = (this.#next + 1) % MOST_KNOWN;
  }
}

export interface SealedState {
  readonly requestState: string;
  /** The record of the session is in it. */
  readonly carried: boolean;
}

/**
 * Bound by the seal itself: opened in another context, it does not open. Only what
 * a run depends on counts, and arguments that are left out are none.
 */
export function contextOf({ principal, method, params }: StateBinding): string {
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
