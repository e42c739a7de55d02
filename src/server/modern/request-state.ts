/**
 * The request state: a token that a modern client sends back when it retries a call with answers.
 *
 * The token is encrypted and authenticated, so clients can neither read nor forge it. A token is
 * valid for one caller and one call with the same arguments, until it expires.
 *
 * The token names the session, which is in memory or in a store. For a portable tool, the token
 * also contains the session's whole record, so that any server with the same key can continue
 * the call.
 */
import type { JsonObject } from "../../model/content.ts";
import { recordedCaller } from "../../model/principal.ts";
import { packRecord, type PortableRecord, unpackRecord } from "../../registry/portable-record.ts";
import type { Sealer } from "../../lib/sealer.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";

export interface RequestState {
  readonly sessionId: string;
  /** The last LSN of the session's log when the state was sealed. */
  readonly lsn: number;
  /** Expiry time, in milliseconds since the epoch. */
  readonly expires: number;
  /** How many times the request has ended with `input_required`. Default: 0. */
  readonly rounds?: number;
  /** The record of the session, if the tool is portable. */
  readonly record?: PortableRecord;
}

/** The caller and the call that a state is valid for. */
export interface StateBinding {
  readonly principal: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** First byte of a state in the packed binary format. Other states are JSON. */
const PACKED = 1;

export function sealState(sealer: Sealer, state: RequestState, context: string): string {
  const { sessionId, lsn, expires, record, rounds = 0 } = state;
  const plain = record
    ? packRecord(PACKED, [sessionId, lsn, expires, record, rounds])
    : JSON.stringify([sessionId, lsn, expires, null, rounds]);
  return sealer.seal(plain, context);
}

/** Maximum length of a state that contains a record, in characters. */
const LONGEST = 64 * 1024;

/** Seals a state with the record of a portable session. Undefined if the record is too large. */
function portableState(
  sealer: Sealer,
  session: LiveToolSession,
  state: RequestState,
  context: string,
): string | undefined {
  const { createdAt, log, tool, seed } = session;
  const caller = session.caller && recordedCaller(session.caller);
  // A log that has dropped its first events is not complete, and would be too large.
  if (log.firstLSN === 1) {
    const { version } = tool.durable!;
    const record = {
      createdAt,
      version,
      events: log.after(0),
      ...(seed && { seed }),
      ...(caller && { caller }),
    };
    const sealed = sealState(sealer, { ...state, record }, context);
    if (sealed.length <= LONGEST) return sealed;
  }
  pin(session);
  return undefined;
}

/** Marks a session as no longer portable: only this server can continue it. Tells the operator. */
function pin(session: LiveToolSession): void {
  session.stayHere();
  const { toolName, id: sessionId } = session;
  const why = `it is larger than ${LONGEST / 1024} KiB`;
  const error = new Error(
    `Cannot put the record into the requestState: ${why}; only this server can continue the call`,
  );
  session.report({ what: "a call is no longer portable", toolName, sessionId, error });
}

/** Opens a state. Undefined if it was modified, has expired, or is for another call or caller. */
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
  const [sessionId, lsn, expires, record, rounds = 0] = parts as [
    string,
    number,
    number,
    (PortableRecord | null)?,
    number?,
  ];
  if (now >= expires) return undefined;
  return { sessionId, lsn, expires, ...(rounds > 0 && { rounds }), ...(record && { record }) };
}

/** A state that this server has issued, with the call and caller that it is bound to. */
interface Issued {
  readonly sealed: string;
  readonly state: RequestState;
  readonly context: string;
}

/** How many recently issued states are cached. Cached states need not be decrypted. */
const MAX_KNOWN = 1_024;
/** Maximum length of the context of a cached state, in characters: arguments can be long. */
const MAX_KNOWN_LENGTH = 1_024;

/**
 * Seals and opens the request states of one server.
 *
 * Most states come back soon, to the server that issued them, and decryption is the most expensive
 * part of a retry. So recently issued states are cached. If the same text arrives for the same
 * call, it is not decrypted.
 */
export class States {
  readonly #sealer: Sealer;
  readonly #known = new Map<string, Issued>();
  /** The cached states as a ring buffer, in the order of issue. A new state replaces the oldest. */
  readonly #order: Issued[] = [];
  #next = 0;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Seals a state. The state contains the session's record, if the record is portable. */
  seal(session: LiveToolSession, state: RequestState, binding: StateBinding): SealedState {
    const context = contextOf(binding);
    if (session.portable && session.replayable) {
      const requestState = portableState(this.#sealer, session, state, context);
      if (requestState !== undefined) return { requestState, portable: true };
    }
    const sealed = sealState(this.#sealer, state, context);
    if (context.length <= MAX_KNOWN_LENGTH) this.#remember({ sealed, state, context });
    return { requestState: sealed, portable: false };
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
    this.#next = (this.#next + 1) % MAX_KNOWN;
  }
}

export interface SealedState {
  readonly requestState: string;
  /** True if the state contains the record of the session. */
  readonly portable: boolean;
}

/**
 * The context that a state is bound to: the caller, the method and the arguments. The sealer
 * authenticates the context, so a state cannot be opened with another one. Missing arguments equal
 * empty arguments.
 */
export function contextOf({ principal, method, params }: StateBinding): string {
  const { name, uri, arguments: args = {} } = params;
  // The context may be long: it is authenticated, but it is not part of the state's text.
  return `request state\0${principal}\0${canonical([method, name, uri, args])}`;
}

/** Canonical JSON: keys are sorted, so equal values give equal text. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const entries = Object.entries(value)
    .filter(([, entry]) => entry !== undefined)
    .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`);
  return `{${entries.join(",")}}`;
}
