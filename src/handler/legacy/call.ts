/** One call of a legacy client: its request's id, and the session that serves it. */
import type { JsonObject } from "../../content.ts";
import type { LogLevel, ToolSessionEvent } from "../../events.ts";
import { EventsGone } from "../../errors.ts";
import type { RpcId } from "../../protocol/json-rpc.ts";
import { encodeEvent, type LegacyCall } from "../../protocol/legacy/encode.ts";
import type { LegacyVersion } from "../../protocol/versions.ts";
import type { LiveToolSession, SessionOwner } from "../../session/tool-session.ts";
import type { ClientSession } from "./client-session.ts";

export class Call implements LegacyCall, SessionOwner {
  readonly id: RpcId;
  readonly client: ClientSession;
  readonly progressToken: RpcId | undefined;
  progress = -Infinity;
  session!: LiveToolSession;
  /** Ends the connection that carries this call, if there is one. */
  disconnect: (() => void) | undefined;
  /** Called when the session is forgotten. */
  forgotten: (() => void) | undefined;

  constructor(id: RpcId, client: ClientSession, meta: JsonObject | undefined) {
    this.id = id;
    this.client = client;
    const token = meta?.progressToken;
    this.progressToken = typeof token === "string" || typeof token === "number" ? token : undefined;
  }

  get version(): LegacyVersion {
    return this.client.version;
  }

  get logLevel(): LogLevel {
    return this.client.logLevel;
  }

  /** Whether everything up to the end has been read. */
  isReadTo(cursor: number): boolean {
    return this.session.outcome !== undefined && cursor >= this.session.log.lastLSN;
  }

  /**
   * The messages after an LSN. What is no longer kept is skipped, but never a
   * question that still waits: without it the client could not go on.
   */
  messagesAfter(
    lsn: number,
    send: (message: string, lsn: number | undefined) => void,
  ): number {
    let cursor = lsn;
    for (const event of this.#eventsAfter(lsn, send)) {
      cursor = event.lsn;
      const message = encodeEvent(event, this);
      if (message !== undefined) send(message, cursor);
    }
    return cursor;
  }

  #eventsAfter(
    lsn: number,
    send: (message: string, lsn: number | undefined) => void,
  ): readonly ToolSessionEvent[] {
    const { log } = this.session;
    try {
      return log.after(lsn);
    } catch (error) {
      if (!(error instanceof EventsGone)) throw error;
      const kept = log.after(error.firstLSN - 1);
      for (const request of this.session.openRequests()) {
        if (kept.some((event) => "id" in event && event.id === request.id)) continue;
        send(encodeEvent({ ...request, lsn: 0 }, this)!, undefined);
      }
      return kept;
    }
  }

  ended(): void {
    this.client.calls.delete(this.id);
  }

  gone(session: LiveToolSession): void {
    this.client.callsBySession.delete(session.id);
    this.forgotten?.();
  }

  hangUp(): void {
    this.disconnect?.();
  }
}
