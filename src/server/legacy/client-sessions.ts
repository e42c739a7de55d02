/**
 * All legacy client sessions in memory, least recently used first. Sessions that are stored but
 * not in memory are restored on lookup.
 */
import { Buffer } from "node:buffer";
import type { Operation } from "effection";
import type { JsonObject } from "../../model/content.ts";
import { Owned, Shares } from "../../lib/shares.ts";
import { promised } from "../../lib/strand.ts";
import type { ClientSessionPlace, ClientSessionStore } from "../../store/types.ts";
import type { ServerCore } from "../core.ts";
import type { Call } from "./call.ts";
import { type KeptClient, keptClient, restoreClient } from "./client-record.ts";
import { ClientSession } from "./client-session.ts";

/**
 * Milliseconds after which a used session moves to the end of the list again. Moving it on every
 * request would be too slow.
 */
const REORDER_AFTER = 60_000;

type ListRecords = NonNullable<ClientSessionStore["list"]>;

/** The result of a lookup. "no room" means that a limit prevents restoring the stored session. */
export type Found = ClientSession | "no room" | undefined;

export class ClientSessions {
  readonly #core: ServerCore;
  readonly #store: ClientSessionStore | undefined;
  readonly #sessions = new Map<string, ClientSession>();
  readonly #shares: Shares;
  /** The number of sessions that were removed from memory while their records remain. */
  readonly #awayShares: Shares;
  /** The ids of these sessions. */
  readonly #away = new Owned<string>();
  /** Sessions that are being restored. Concurrent requests wait for the same promise. */
  readonly #returning = new Map<string, Promise<Found>>();
  /** Ids of sessions whose records are being deleted. These sessions cannot be restored. */
  readonly #ending = new Set<string>();
  #hasCounted = false;

  constructor(core: ServerCore, store?: ClientSessionStore) {
    this.#core = core;
    this.#store = store;
    const { maxClientSessions: max, maxClientSessionsPerPrincipal: maxPerPrincipal } = core.limits;
    this.#shares = new Shares({ max, maxPerPrincipal });
    this.#awayShares = new Shares({ max, maxPerPrincipal });
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** True if sessions are stored, so that they survive a restart of the server. */
  get kept(): boolean {
    return this.#store !== undefined;
  }

  /** Creates a session. Returns an error message if too many sessions are in use. */
  create(principal: string): ClientSession | string {
    if (!this.#makeRoom(principal)) {
      return this.#shares.reached(principal) === "share"
        ? `Cannot start a session: the caller has reached its limit of ${
          this.#shares.of(principal)
        } sessions in use; end one, or try again later`
        : "Cannot start a session: the server has reached its limit; try again later";
    }
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
    const session = new ClientSession(id, principal, this.#core);
    this.#add(session);
    return session;
  }

  /** Finds a session in memory. Returns undefined if another principal owns the session. */
  find(id: string, principal: string): ClientSession | undefined {
    const session = this.#sessions.get(id);
    if (!session || session.principal !== principal) return undefined;
    const now = session.lastSeen = this.#core.deadlines.now();
    if (now - session.placedAt > REORDER_AFTER) {
      session.placedAt = now;
      this.#sessions.delete(id);
      this.#sessions.set(id, session);
      this.#renew(session, now);
    }
    return session;
  }

  /** Stores a session again if its record expires soon. Runs in the background. */
  #renew(session: ClientSession, now: number): void {
    if (!this.#store || session.keptUntil - now >= this.#core.limits.clientSessionTimeToLive) {
      return;
    }
    this.save(session).catch((error) => this.#fault(error));
  }

  /** Finds a session in memory, or restores it from its stored record. */
  lookup(id: string, principal: string): Found | Promise<Found> {
    const session = this.find(id, principal);
    if (session || !this.#store || this.#sessions.has(id) || this.#ending.has(id)) return session;
    // The key includes the principal, so that a caller who guesses an id does not block its owner.
    const key = JSON.stringify([id, principal]);
    let returning = this.#returning.get(key);
    if (!returning) {
      returning = this.#restore(this.#store, id, principal)
        .finally(() => this.#returning.delete(key));
      this.#returning.set(key, returning);
    }
    return returning;
  }

  /** Stores the current state of a session. Throws if the store fails. */
  async save(session: ClientSession): Promise<void> {
    const store = this.#store;
    if (!store || session.endedForGood) return;
    session.changed = false;
    try {
      await this.#save(store, session);
    } catch (error) {
      session.changed = true;
      throw error;
    }
  }

  /** Like `save`, but reports a failure to the operator and returns false instead of throwing. */
  async saved(session: ClientSession): Promise<boolean> {
    try {
      await this.save(session);
      return true;
    } catch (error) {
      this.#fault(error);
      return false;
    }
  }

  async #save(store: ClientSessionStore, session: ClientSession): Promise<void> {
    const { limits: { clientSessionTimeToLive }, registry, deadlines } = this.#core;
    const doubtful = doubtfulCalls(session, deadlines.now() - clientSessionTimeToLive);
    if (doubtful.length > 0) {
      await Promise.all(doubtful.map((call) => call.confirm()));
      if (session.endedForGood) return;
    }
    const durable = [...session.calls.values()].some((call) => call.durable);
    // The record lives at least twice as long as the idle timeout. `#renew` stores an active session
    // again when less than one idle timeout is left.
    const term = durable
      ? Math.max(2 * clientSessionTimeToLive, registry.durableTimeToLive)
      : 2 * clientSessionTimeToLive;
    const expiresAt = deadlines.now() + term;
    const state = keptClient(session) as unknown as JsonObject;
    await this.#run(() => store.set(session.id, { id: session.id, expiresAt, state }));
    session.keptUntil = expiresAt;
  }

  /** Ends a session permanently, and waits until its stored record is deleted. */
  async end(session: ClientSession, reason: string): Promise<void> {
    if (!this.#remove(session)) return;
    const cancelled = session.end(reason);
    session.endedForGood = true;
    const store = this.#store;
    if (!store) return;
    await this.#delete(store, session.id, cancelled);
  }

  /** Waits for `before`, then deletes a stored record. */
  async #delete(store: ClientSessionStore, id: string, before?: Promise<unknown>): Promise<void> {
    this.#ending.add(id);
    try {
      await before;
      await this.#run(() => store.delete(id));
    } finally {
      this.#ending.delete(id);
    }
  }

  /** Removes all sessions from memory when the server shuts down. Stored records remain. */
  endAll(reason: string): void {
    for (const session of [...this.#sessions.values()]) this.#drop(session, reason, true);
  }

  async #restore(store: ClientSessionStore, id: string, principal: string): Promise<Found> {
    const record = await this.#run(() => store.get(id));
    const kept = record?.state as unknown as KeptClient | undefined;
    if (!record || record.expiresAt < this.#core.deadlines.now()) return undefined;
    // The session may have been ended while its record was read.
    if (kept!.principal !== principal || this.#ending.has(id)) return undefined;
    const wasAway = this.#isBack(id, principal);
    if (this.#core.closing || !this.#makeRoom(principal)) {
      if (wasAway) this.#goAway(store, id, principal);
      return "no room";
    }
    const session = new ClientSession(id, principal, this.#core);
    restoreClient(session, kept!);
    session.keptUntil = record.expiresAt;
    this.#add(session);
    this.#renew(session, session.lastSeen);
    return session;
  }

  #add(session: ClientSession): void {
    // The session may have been counted as one that left memory while it was restored.
    this.#isBack(session.id, session.principal);
    this.#countStored();
    this.#sessions.set(session.id, session);
    this.#shares.take(session.principal);
    this.#expireAfter(session, this.#core.limits.clientSessionTimeToLive);
  }

  /** Removes a session from memory. A stored session can be restored later. */
  #drop(session: ClientSession, reason: string, serverGoes = false): void {
    if (this.#remove(session)) session.end(reason, serverGoes || session.keptUntil > 0);
  }

  /** Removes a session from the list. Returns false if the list does not contain the session. */
  #remove(session: ClientSession): boolean {
    if (!this.#sessions.delete(session.id)) return false;
    this.#shares.give(session.principal);
    session.expiry?.cancel();
    return true;
  }

  /**
   * If a limit is reached, removes an idle session to make room for a new one. If the caller has
   * used up its share, removes a session of the caller. Otherwise, removes a session of the
   * principal with the most sessions among those that have an idle session. A principal does not
   * lose a session while another principal has more than twice as many. Returns false if no session
   * can be removed.
   */
  #makeRoom(principal: string): boolean {
    const shares = this.#shares;
    const reached = shares.reached(principal);
    if (reached === undefined) return true;
    const largest = reached === "share" ? principal : shares.largest!;
    // The number of sessions of a principal, including the one that the caller wants to start.
    const heldBy = (who: string) => shares.of(who) + (who === principal ? 1 : 0);
    let giving: ClientSession | undefined;
    for (const session of this.#sessions.values()) {
      const holder = session.principal;
      if (session.busy || reached === "share" && holder !== principal) continue;
      if (!giving || heldBy(holder) > heldBy(giving.principal)) giving = session;
      if (holder === largest && heldBy(holder) >= heldBy(principal)) break;
    }
    if (!giving || 2 * heldBy(giving.principal) < heldBy(largest)) return false;
    const reason = "another client needed the room";
    // Delete the record as well, because any client can start any number of sessions. If the client
    // can still resume calls, remove the session only from memory, so that no call is lost.
    if (giving.calls.size === 0 && giving.callsBySession.size === 0) {
      this.end(giving, reason).catch((error) => this.#fault(error));
    } else {
      this.#drop(giving, reason);
      if (this.#store) this.#goAway(this.#store, giving.id, giving.principal);
    }
    return true;
  }

  /**
   * Counts a session that left memory while its record remains. The limits are the same as for
   * sessions in memory. If a limit is reached, the oldest such record is deleted: that of the caller
   * if the caller has used up its share, otherwise that of the principal with the most records.
   */
  #goAway(store: ClientSessionStore, id: string, principal: string): void {
    const shares = this.#awayShares;
    const reached = shares.reached(principal);
    if (reached !== undefined) {
      const holder = reached === "share" ? principal : shares.largest!;
      const [oldest] = this.#away.of(holder);
      this.#isBack(oldest!, holder);
      this.#delete(store, oldest!).catch((error) => this.#fault(error));
    }
    this.#away.add(principal, id);
    shares.take(principal);
  }

  /** Counts the stored records of earlier processes. Runs once, in the background. */
  #countStored(): void {
    const store = this.#store;
    if (this.#hasCounted || !store?.list) return;
    this.#hasCounted = true;
    this.#count(store, store.list.bind(store)).catch((error) => {
      if (!this.#core.closing) this.#fault(error);
    });
  }

  async #count(store: ClientSessionStore, list: ListRecords): Promise<void> {
    let last: ClientSessionPlace | undefined;
    while (!this.#core.closing) {
      const page = await this.#run(() => list(last));
      last = page.at(-1);
      if (!last) return;
      for (const { id, principal } of page) {
        if (this.#sessions.has(id) || this.#ending.has(id)) continue;
        this.#isBack(id, principal);
        this.#goAway(store, id, principal);
      }
    }
  }

  /** Stops counting a session as one that left memory. Returns false if it was not counted. */
  #isBack(id: string, principal: string): boolean {
    if (!this.#away.delete(principal, id)) return false;
    this.#awayShares.give(principal);
    return true;
  }

  /**
   * Starts the idle timer. Requests do not restart the timer, they only update `lastSeen`. When the
   * timer fires, it starts again if the session was used since or is busy.
   */
  #expireAfter(session: ClientSession, ms: number): void {
    const { deadlines, limits: { clientSessionTimeToLive } } = this.#core;
    session.expiry = deadlines.add(ms, () => {
      const now = deadlines.now();
      // The clock may have been set back.
      const lastSeen = session.busy ? now : Math.min(session.lastSeen, now);
      const left = lastSeen + clientSessionTimeToLive - now;
      if (left > 0) this.#expireAfter(session, left);
      else this.#drop(session, "it was idle for too long");
    });
  }

  #run<T>(operation: () => Operation<T>): Promise<T> {
    return promised(this.#core.registry.scope, operation);
  }

  #fault(error: unknown): void {
    const what = "a client session could not be stored";
    this.#core.registry.report({ what, toolName: "-", sessionId: "-", error });
  }
}

/** Calls on disconnected streams whose sessions left memory and were last seen before `before`. */
function doubtfulCalls({ streams }: ClientSession, before: number): Call[] {
  return [...streams.values()]
    .filter(({ connection }) => !connection)
    .flatMap(({ calls }) => calls)
    .filter((call) => call.isDoubtful(before));
}
