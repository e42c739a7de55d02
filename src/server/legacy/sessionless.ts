/**
 * Serves legacy requests without a session id. Some clients do not send the session id that
 * `initialize` returned. The server handles each such request on its own.
 *
 * SESSIONLESS-1  The client has declared no capabilities, so the server asks it no questions.
 * SESSIONLESS-2  The request has no access to the state of a session: not to other calls,
 *                subscriptions, the log level, or streams.
 * SESSIONLESS-3  The call ends with its connection, because no client could resume it.
 */
import type { LegacyVersion } from "../../wire/versions.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { ServerCore } from "../core.ts";
import { ClientSession } from "./client-session.ts";

/** The protocol version that the specification assumes for a request without a version header. */
export const ASSUMED_VERSION: LegacyVersion = "2025-03-26";

export class SessionlessClient extends ClientSession {
  override readonly sessionless = true;

  constructor(principal: string, core: ServerCore, version: LegacyVersion) {
    super("", principal, core);
    // SESSIONLESS-2: the client has no stream for change notifications.
    this.deafen();
    this.version = version;
    this.initialized = true;
    // SESSIONLESS-1
    this.info = { protocolVersion: version, capabilities: {} };
  }

  /** Called when the connection closes. Ends the calls and keeps no record of them (SESSIONLESS-3). */
  leave(sessions: readonly LiveToolSession[]): void {
    this.end("the client closed the connection");
    for (const session of sessions) this.core.registry.forget(session);
  }
}
