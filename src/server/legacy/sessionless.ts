/**
 * A legacy client that names no session. Some lose the id that `initialize` gave
 * them, others open a session for each call and then never use it. Each of their
 * requests is served by itself.
 *
 * N1  It has declared no capabilities, so nothing is asked of it.
 * N2  It reaches nothing that belongs to a session: no other call, no subscription,
 *     no log level, no stream to resume.
 * N3  Its call ends with its connection, since nobody could come back to it.
 */
import type { LegacyVersion } from "../../wire/versions.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { ServerCore } from "../core.ts";
import { ClientSession } from "./client-session.ts";

/** What the specification has servers assume where no header tells. */
export const ASSUMED_VERSION: LegacyVersion = "2025-03-26";

export class SessionlessClient extends ClientSession {
  override readonly sessionless = true;

  constructor(principal: string, core: ServerCore, version: LegacyVersion) {
    super("", principal, core);
    // It has no stream for what the server announces.
    this.deafen();
    this.version = version;
    this.initialized = true;
    this.info = { protocolVersion: version, capabilities: {} };
  }

  /** Its connection is closed: its calls end, and nothing is kept of them. */
  leave(sessions: readonly LiveToolSession[]): void {
    this.end("the client closed the connection");
    for (const session of sessions) this.core.registry.forget(session);
  }
}
