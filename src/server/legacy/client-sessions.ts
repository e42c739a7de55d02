/**
 * All client sessions in memory, the longest unused first, and the way back for
 * those that are on record only.
 */
import { Buffer } from "node:buffer";
import type { Operation } from "effection";
import type { JsonObject } from "../../model/content.ts";
import { Shares } from "../../lib/shares.ts";
import { promised } from "../../lib/strand.ts";
import type { ClientSessionStore } from "../../store/types.ts";
import type { ServerCore } from "../core.ts";
import type { Call } from "./call.ts";
import { type KeptClient, keptClient, restoreClient } from "./client-record.ts";
import { ClientSession } from "./client-session.ts";

/** Moving a session to the end at every request would cost more than it is worth. */
const REORDER_AFTER = 60_000;

/** A session, if there is one; one may be on record that there is no room for now. */
export type Found = ClientSession | "no room" | undefined;

export class ClientSessions {
  readonly #core: ServerCore;
  readonly #store: ClientSessionStore | undefined;
  readonly #sessions = new Map<string, ClientSession>();
  readonly #shares: Shares;
  /** Sessions that are being read, so that two requests at once get the same one. */
  readonly #returning = new Map<string, Promise<Found>>();
  /** Sessions whose records are being deleted: nobody comes back by one of those. */
  readonly #ending = new Set<string>();

  constructor(core: ServerCore, store?: ClientSessionStore) {
    this.#core = core;
    this.#store = store;
    const { maxClientSessions: max, maxClientSessionsPerPrincipal: maxPerPrincipal } = core.limits;
    this.#shares = new Shares({ max, maxPerPrincipal });
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether sessions outlast the server. */
  get kept(): boolean {
    return this.#store !== undefined;
  }

  /** A new session, or why there can be none: too many are in use. */
  create(principal: string): ClientSession | string {
    if (!this.#makeRoom(principal)) {
      return this.#shares.reached(principal) === "share"
        ? `Cannot start a session: the caller has ${
          this.#shares.of(principal)
        } in use, which is its share; end one, or try again later`
        : "Cannot start a session: the server has as many as it can; try again later";
    }
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
    const session = new ClientSession(id, principal, this.#core);
    this.#add(session);
    return session;
  }

  /** A session in memory. Somebody else's is not there. */
  find(id: string, principal: string): ClientSession | undefined {
    const session = this.#sessions.get(id);
    if (!session || session.principal !== principal) return undefined;
    const now = this.#core.deadlines.now();
    if (now - session.placedAt > REORDER_AFTER) {
      session.placedAt = now;
      this.#sessions.delete(id);
      this.#sessions.set(id, session);
      this.#renew(session, now);
    }
    return session;
  }

  /** Puts it on record again well before that expires; nobody waits for it. */
  #renew(session: ClientSession, now: number): void {
    if (!this.#store || session.keptUntil - now >= this.#core.limits.clientSessionTimeToLive) {
      return;
    }
    this.save(session).catch((error) => this.#fault(error));
  }

  /** A session in memory, or else from its record. */
  lookup(id: string, principal: string): Found | Promise<Found> {
    const session = this.find(id, principal);
    if (session || !this.#store || this.#sessions.has(id) || this.#ending.has(id)) return session;
    // Whoever tries somebody else's id must not be in that one's way.
    const key = JSON.stringify([id, principal]);
    let returning = this.#returning.get(key);
    if (!returning) {
      returning = this.#restore(this.#store, id, principal)
        .finally(() => this.#returning.delete(key));
      this.#returning.set(key, returning);
    }
    return returning;
  }

  /** Puts a session on record as it is now. Throws where it cannot be stored. */
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

  /** As `save`, and tells whether it could be stored. */
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
      await Promise.all(doubtful.map((call) => this.#lookFor(call)));
      if (session.endedForGood) return;
    }
    const durable = [...session.calls.values()].some((call) => call.durable);
    // Twice as long as it may be idle: it is put on record again before half of that is over.
    const term = durable
      ? Math.max(2 * clientSessionTimeToLive, registry.durableTimeToLive)
      : 2 * clientSessionTimeToLive;
    const expiresAt = deadlines.now() + term;
    const state = keptClient(session) as unknown as JsonObject;
    await this.#run(() => store.set(session.id, { id: session.id, expiresAt, state }));
    session.keptUntil = expiresAt;
  }

  /** A call that nobody can come back to is not kept any longer. */
  async #lookFor(call: Call): Promise<void> {
    const { registry, deadlines } = this.#core;
    if (!call.lost && await registry.principalOf(call.sessionId) !== undefined) {
      if (call.seenAt !== undefined) call.seenAt = deadlines.now();
      return;
    }
    call.lose();
    call.gone();
  }

  /** Ends a session for good, and waits until its record is gone. */
  async end(session: ClientSession, reason: string): Promise<void> {
    if (!this.#remove(session)) return;
    const cancelled = session.end(reason);
    session.endedForGood = true;
    const store = this.#store;
    if (!store) return;
    this.#ending.add(session.id);
    try {
      await cancelled;
      await this.#run(() => store.delete(session.id));
    } finally {
      this.#ending.delete(session.id);
    }
  }

  /** The server goes; what is on record stays there. */
  endAll(reason: string): void {
    for (const session of [...this.#sessions.values()]) this.#drop(session, reason, true);
  }

  async #restore(store: ClientSessionStore, id: string, principal: string): Promise<Found> {
    const record = await this.#run(() => store.get(id));
    const kept = record?.state as unknown as KeptClient | undefined;
    if (!record || record.expiresAt < this.#core.deadlines.now()) return undefined;
    if (kept!.principal !== principal) return undefined;
    if (this.#core.closing || !this.#makeRoom(principal)) return "no room";
    const session = new ClientSession(id, principal, this.#core);
    restoreClient(session, kept!);
    session.keptUntil = record.expiresAt;
    this.#add(session);
    this.#renew(session, session.lastSeen);
    return session;
  }

  #add(session: ClientSession): void {
    this.#sessions.set(session.id, session);
    this.#shares.take(session.principal);
    this.#expireAfter(session, this.#core.limits.clientSessionTimeToLive);
  }

  /** Takes a session out of memory; one that is on record can come back. */
  #drop(session: ClientSession, reason: string, serverGoes = false): void {
    if (this.#remove(session)) session.end(reason, serverGoes || session.keptUntil > 0);
  }

  /** Whether it was there. */
  #remove(session: ClientSession): boolean {
    if (!this.#sessions.delete(session.id)) return false;
    this.#shares.give(session.principal);
    session.expiry?.cancel();
    return true;
  }

  /**
   * Makes room, if there is none: by ending an idle session of the largest holder, which
   * is the caller where it has its share. Nobody gives a session for this while another
   * holds more than twice as many.
   */
  #makeRoom(principal: string): boolean {
    const shares = this.#shares;
    const reached = shares.reached(principal);
    if (reached === undefined) return true;
    const largest = reached === "share" ? principal : shares.largest!;
    // As if the caller had the one that it asks for.
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
    // On record it would still be its caller's, beyond its share; but no call is lost for that.
    if (reached === "share" && giving.calls.size === 0) {
      this.end(giving, reason).catch((error) => this.#fault(error));
    } else this.#drop(giving, reason);
    return true;
  }

  /** A request only notes the time; whether that was enough is looked at when time is up. */
  #expireAfter(session: ClientSession, ms: number): void {
    const { deadlines, limits: { clientSessionTimeToLive } } = this.#core;
    session.expiry = deadlines.add(ms, () => {
      const left = session.busy
        ? clientSessionTimeToLive
        : session.lastSeen + clientSessionTimeToLive - deadlines.now();
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

/** Calls that have not been seen for long, on streams that nobody reads. */
function doubtfulCalls({ streams }: ClientSession, before: number): Call[] {
  return [...streams.values()]
    .filter(({ connection }) => !connection)
    .flatMap(({ calls }) => calls)
    .filter(({ isHere, seenAt }) => !isHere && seenAt !== undefined && seenAt < before);
}
