/** All client sessions, the longest unused first. */
import { Buffer } from "node:buffer";
import type { ServerCore } from "../core.ts";
import { ClientSession } from "./client-session.ts";

/** Moving a session to the end at every request would cost more than it is worth. */
const REORDER_AFTER = 60_000;

export class ClientSessions {
  readonly #core: ServerCore;
  readonly #sessions = new Map<string, ClientSession>();

  constructor(core: ServerCore) {
    this.#core = core;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** A new session, unless there are too many that are in use. */
  create(principal: string): ClientSession | undefined {
    const { maxClientSessions, idleTime } = this.#core.limits;
    if (this.#sessions.size >= maxClientSessions && !this.#dropIdlest(principal)) {
      return undefined;
    }
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
    const session = new ClientSession(id, principal, this.#core);
    this.#sessions.set(session.id, session);
    this.#expireAfter(session, idleTime);
    return session;
  }

  /** Somebody else's session is not there. */
  find(id: string, principal: string): ClientSession | undefined {
    const session = this.#sessions.get(id);
    if (!session || session.principal !== principal) return undefined;
    const now = this.#core.deadlines.now();
    if (now - session.placedAt > REORDER_AFTER) {
      session.placedAt = now;
      this.#sessions.delete(id);
      this.#sessions.set(id, session);
    }
    return session;
  }

  end(session: ClientSession, reason: string, serverGoes = false): void {
    if (!this.#sessions.delete(session.id)) return;
    session.expiry?.cancel();
    session.end(reason, serverGoes);
  }

  /** The server goes. */
  endAll(reason: string): void {
    for (const session of [...this.#sessions.values()]) this.end(session, reason, true);
  }

  /** Makes room at the caller's own expense, if it has anything to give. */
  #dropIdlest(principal: string): boolean {
    let idlest: ClientSession | undefined;
    for (const session of this.#sessions.values()) {
      if (session.busy) continue;
      idlest ??= session;
      if (session.principal !== principal) continue;
      idlest = session;
      break;
    }
    if (idlest) this.end(idlest, "another client needed the room");
    return idlest !== undefined;
  }

  /** A request only notes the time; whether that was enough is looked at when time is up. */
  #expireAfter(session: ClientSession, ms: number): void {
    const { deadlines, limits: { idleTime } } = this.#core;
    session.expiry = deadlines.add(ms, () => {
      const left = session.busy ? idleTime : session.lastSeen + idleTime - deadlines.now();
      if (left > 0) this.#expireAfter(session, left);
      else this.end(session, "it was idle for too long");
    });
  }
}
