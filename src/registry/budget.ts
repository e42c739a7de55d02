/**
 * How many bytes calls may take, roughly: in memory while they are alive, and in the
 * store for as long as their records are there. Each caller has a share of both.
 *
 * B1  Nothing is counted for each event. A call is weighed when the registry takes it in,
 *     when it begins to wait, and when it goes.
 * B2  New calls are refused once four fifths are taken; the rest is for calls under way,
 *     and for callers that hold less than half as much as the largest holder.
 * B3  A call that would wait with more than there is room for ends instead, and says so.
 */
import { SessionLimitError } from "../model/errors.ts";
import { type Reached, type ShareLimits, Shares } from "../lib/shares.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import { estimateSize } from "../session/event-log.ts";

export interface BudgetLimits {
  readonly memory: ShareLimits;
  readonly store: ShareLimits;
}

/** What a call takes besides what it holds of its caller's. */
const EACH = 1_024;
/** The part of a limit that is left to calls under way. */
const SPARE = 1 / 5;

export class Budget {
  /** What calls hold in memory; those that have left memory do not count. */
  readonly memory: Shares;
  /** What durable calls hold in the store. */
  readonly store: Shares;
  /** Whether the store tells how much is in it. Where it does not, its bytes have no limit. */
  countsStore = false;

  constructor({ memory, store }: BudgetLimits) {
    this.memory = new Shares(memory);
    this.store = new Shares(store);
  }

  /** Takes memory for something else of a caller's. Throws if there is no room for it. */
  hold(principal: string, bytes: number, verb: string): void {
    const reached = this.memory.reached(principal, bytes);
    if (reached !== undefined) {
      const limit = reached === "share" ? this.memory.limitOf(principal) : this.memory.limits.max;
      const problem = problemOf(this.memory, principal, reached, "of memory");
      throw new SessionLimitError(limit, problem, verb);
    }
    this.memory.take(principal, bytes);
  }

  /** Throws if a caller may not start another call now. */
  check(principal: string, durable: boolean): void {
    refuse(this.memory, principal, "of memory");
    if (durable && this.countsStore) refuse(this.store, principal, "of the store");
  }

  /** Throws if a caller may not have another call taken up again now. */
  checkTakenUp(principal: string): void {
    const problem = exceeded(this.memory, principal, "of memory");
    if (problem === undefined) return;
    throw new SessionLimitError(this.memory.limitOf(principal), problem, "go on with the call now");
  }

  /** Notes what a call was given that is in the store already, and about to be taken up again. */
  restored(session: RegisteredSession, params: unknown): void {
    session.baggage = baggageOf(session, params);
    if (this.countsStore) session.stored = session.baggage + session.log.bytes;
  }

  /** Takes a call in, and weighs it. */
  enter(session: RegisteredSession, params: unknown): string | undefined {
    session.baggage ||= baggageOf(session, params);
    return this.measure(session);
  }

  /** Weighs a call. Tells why it may not wait, where it has grown and there is no room for that. */
  measure(session: LiveToolSession): string | undefined {
    const grown = this.#charge(session);
    if (!grown) return undefined;
    const { principal } = session;
    return exceeded(this.memory, principal, "of memory") ??
      (session.stored > 0 ? exceeded(this.store, principal, "of the store") : undefined);
  }

  /** It has left memory, or ended. */
  leave(session: RegisteredSession): void {
    if (session.outcome) this.#chargeStore(session);
    this.memory.give(session.principal, session.charged);
    session.charged = 0;
  }

  /** It is no longer in the store. */
  forget(session: RegisteredSession): void {
    this.store.give(session.principal, session.stored);
    session.stored = 0;
  }

  /** Whether it holds more than when it was last weighed. */
  #charge(session: RegisteredSession): boolean {
    const bytes = session.baggage + session.log.bytes;
    const more = bytes - session.charged;
    this.memory.take(session.principal, more);
    session.charged = bytes;
    return this.#chargeStore(session) || more > 0;
  }

  #chargeStore(session: RegisteredSession): boolean {
    if (!this.countsStore || !session.durable || session.portable) return false;
    const bytes = session.baggage + session.log.totalBytes;
    const more = bytes - session.stored;
    this.store.take(session.principal, more);
    session.stored = bytes;
    return more > 0;
  }
}

function baggageOf({ client, trace, presets }: LiveToolSession, params: unknown): number {
  let bytes = EACH + estimateSize(params) + estimateSize(client) + estimateSize(trace);
  for (const response of presets?.values() ?? []) bytes += estimateSize(response);
  return bytes;
}

function refuse(shares: Shares, principal: string, what: string): void {
  const { max } = shares.limits;
  const own = shares.limitOf(principal);
  const reached = shares.of(principal) >= own * (1 - SPARE)
    ? "share"
    : shares.total >= max || shares.total >= max * (1 - SPARE) && isLarge(shares, principal)
    ? "total"
    : undefined;
  if (reached === undefined) return;
  const limit = reached === "share" ? own : max;
  throw new SessionLimitError(limit, problemOf(shares, principal, reached, what));
}

function exceeded(shares: Shares, principal: string, what: string): string | undefined {
  const reached = shares.of(principal) > shares.limitOf(principal)
    ? "share"
    : shares.total > shares.limits.max && isLarge(shares, principal)
    ? "total"
    : undefined;
  return reached && problemOf(shares, principal, reached, what);
}

/** Whether nobody holds far more than a principal. */
function isLarge(shares: Shares, principal: string): boolean {
  return 2 * shares.of(principal) >= shares.of(shares.largest ?? principal);
}

function problemOf(shares: Shares, principal: string, reached: Reached, what: string): string {
  // Those without a name share everything, and nobody's number is told to somebody else.
  return reached === "share" && principal !== ""
    ? `the caller's calls take ${inMB(shares.of(principal))} ${what}, and its share is ${
      inMB(shares.limitOf(principal))
    }`
    : `calls take as much ${what} as they may, which is ${inMB(shares.limits.max)}`;
}

function inMB(bytes: number): string {
  return `${Number((bytes / (1024 * 1024)).toPrecision(3))} MiB`;
}
