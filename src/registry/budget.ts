/**
 * Limits how many bytes calls use: in memory while they are live, and in the store while their
 * records exist. The numbers are estimates. Each caller has a share of both limits.
 *
 * BUDGET-1  A call is measured when the registry adds it, when it begins to wait, and when it ends
 *           or leaves memory, but not at each event.
 * BUDGET-2  New calls are refused when four fifths of a limit are in use. The rest is reserved for
 *           existing calls, and for callers that use less than half as much as the largest caller.
 * BUDGET-3  A call that exceeds the budget when it begins to wait ends with an error.
 */
import { SessionLimitError } from "../model/errors.ts";
import { type Reached, type ShareLimits, Shares } from "../lib/shares.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import { estimateSize } from "../session/estimate-size.ts";

export interface BudgetLimits {
  readonly memory: ShareLimits;
  readonly store: ShareLimits;
}

/** The bytes that are counted for each call in addition to its data. */
const EACH = 1_024;
/** The part of a limit that is reserved for existing calls (BUDGET-2). */
const SPARE = 1 / 5;

export class Budget {
  /** The bytes of live calls in memory, by caller. */
  readonly memory: Shares;
  /** The bytes of records in the store, by caller. */
  readonly store: Shares;
  /** False if the store cannot report its usage. Its bytes then have no limit. */
  countsStore = false;

  constructor({ memory, store }: BudgetLimits) {
    this.memory = new Shares(memory);
    this.store = new Shares(store);
  }

  /** Counts memory that a caller uses outside of calls. Throws if that would exceed a limit. */
  hold(principal: string, bytes: number, verb: string): void {
    const reached = this.memory.reached(principal, bytes);
    if (reached) throw limitError(this.memory, principal, reached, "of memory", verb);
    this.memory.take(principal, bytes);
  }

  /** Throws if a caller may not start another call now (BUDGET-2). */
  check(principal: string, durable: boolean): void {
    const memory = this.memory.nearlyReached(principal, SPARE);
    if (memory) throw limitError(this.memory, principal, memory, "of memory");
    if (!durable || !this.countsStore) return;
    const store = this.store.nearlyReached(principal, SPARE);
    if (store) throw limitError(this.store, principal, store, "of the store");
  }

  /**
   * Throws if the calls of this caller exceed the memory limit, so that no call of the caller may
   * resume now.
   */
  checkRevived(principal: string): void {
    const reached = this.memory.exceeded(principal);
    if (!reached) return;
    const problem = problemOf(this.memory, principal, reached, "of memory");
    throw new SessionLimitError(this.memory.limitOf(principal), problem, "continue the call now");
  }

  /** Measures a call that resumes. Its bytes in the store are already counted. */
  restored(session: RegisteredSession, params: unknown): void {
    session.baggage = baggageOf(session, params);
    if (this.countsStore) session.stored = session.baggage + session.log.bytes;
  }

  /**
   * Measures a call (BUDGET-1). If the call has grown beyond the budget, returns the reason why it
   * may not wait (BUDGET-3). `params` are the arguments of the call. They are needed only when the
   * registry adds the call.
   */
  measure(session: RegisteredSession, params?: unknown): string | undefined {
    const { principal } = session;
    session.baggage ||= baggageOf(session, params);
    const bytes = session.baggage + session.log.bytes;
    const more = bytes - session.charged;
    this.memory.take(principal, more);
    session.charged = bytes;
    const isStored = this.countsStore && session.durable && !session.portable;
    const moreStored = isStored ? this.#chargeStore(session) : 0;
    if (more <= 0 && moreStored <= 0) return undefined;
    const memory = this.memory.exceeded(principal);
    if (memory) return problemOf(this.memory, principal, memory, "of memory");
    const store = session.stored > 0 ? this.store.exceeded(principal) : undefined;
    return store && problemOf(this.store, principal, store, "of the store");
  }

  /** Stops counting the memory of a call that has left memory or has ended. */
  leave(session: RegisteredSession): void {
    const isStored = this.countsStore && session.durable && !session.portable;
    if (session.outcome && isStored) this.#chargeStore(session);
    this.memory.give(session.principal, session.charged);
    session.charged = 0;
  }

  /** Stops counting the bytes of a record that is no longer in the store. */
  forget(session: RegisteredSession): void {
    this.store.give(session.principal, session.stored);
    session.stored = 0;
  }

  /**
   * Counts the bytes of a call in the store. Returns by how many bytes the call has grown since it
   * was last measured.
   */
  #chargeStore(session: RegisteredSession): number {
    const bytes = session.baggage + session.log.totalBytes;
    const more = bytes - session.stored;
    this.store.take(session.principal, more);
    session.stored = bytes;
    return more;
  }
}

function baggageOf({ client, trace, presets }: LiveToolSession, params: unknown): number {
  let bytes = EACH + estimateSize(params) + estimateSize(client) + estimateSize(trace);
  for (const response of presets?.values() ?? []) bytes += estimateSize(response);
  return bytes;
}

function limitError(
  shares: Shares,
  principal: string,
  reached: Reached,
  what: string,
  verb?: string,
): SessionLimitError {
  const limit = reached === "share" ? shares.limitOf(principal) : shares.limits.max;
  return new SessionLimitError(limit, problemOf(shares, principal, reached, what), verb);
}

function problemOf(shares: Shares, principal: string, reached: Reached, what: string): string {
  // Callers without a name share one budget, so the message must not reveal how much the others
  // use.
  return reached === "share" && principal !== ""
    ? `the caller's calls use ${inMB(shares.of(principal))} ${what}, and its share is ${
      inMB(shares.limitOf(principal))
    }`
    : `the limit of ${inMB(shares.limits.max)} ${what} for all calls is reached`;
}

function inMB(bytes: number): string {
  return `${Number((bytes / (1024 * 1024)).toPrecision(3))} MiB`;
}
