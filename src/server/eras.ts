/**
 * Both eras of a server. Only this file decides which era a message belongs to.
 */
import { isObject } from "../lib/json.ts";
import type { RpcId, RpcMessage } from "../wire/json-rpc.ts";
import type { Caching } from "../wire/modern/encode.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";
import { claimsModern } from "../wire/modern/meta.ts";
import { isLegacyVersion } from "../wire/versions.ts";
import type { ServerCore } from "./core.ts";
import type { Send } from "./feed.ts";
import { LegacyChannel } from "./legacy/channel.ts";
import { LegacyEra } from "./legacy/receive.ts";
import { ModernEra } from "./modern/receive.ts";
import { type Caller, type ChannelReply, type Era, type SessionEra } from "./reply.ts";

export class Eras {
  readonly #core: ServerCore;
  readonly #legacy: LegacyEra;
  readonly #modern: ModernEra;

  constructor(core: ServerCore, listCaching: Caching) {
    this.#core = core;
    this.#legacy = new LegacyEra(core);
    this.#modern = new ModernEra(core, listCaching);
  }

  /** The number of client sessions in memory. */
  get clientSessions(): number {
    return this.#legacy.sessions.size;
  }

  /** The era of a request's body. */
  of(headers: RequestHeaders, body: unknown): Era {
    return isModern(headers, body) ? this.#modern : this.#legacy;
  }

  /** The era of a request without a body. Undefined unless the request names a legacy session. */
  ofSession(headers: RequestHeaders): SessionEra | undefined {
    return headers.session !== null ? this.#legacy : undefined;
  }

  /** Connects one client on a channel. `send` sends notifications that belong to no request. */
  connect(principal: string, underWay: ReadonlyMap<RpcId, unknown>, send: Send): Channel {
    const legacy = new LegacyChannel(this.#core, principal, send);
    return new Channel(legacy, this.#modern, { principal, ownStream: false, underWay });
  }

  /** Called when the server starts to refuse new calls. */
  drain(): void {
    this.#legacy.drain();
    this.#modern.drain();
  }

  /** Called when the server shuts down. Clients that wait get a response now. */
  stop(): void {
    this.#legacy.stop();
    this.#modern.stop();
  }

  /** Called when all calls have ended. */
  close(reason: string): void {
    this.#legacy.close(reason);
    this.#modern.close();
  }
}

/**
 * The connection to one client on one channel. `initialize` starts a legacy session for the rest of
 * the connection. Modern requests are served at any time.
 */
export class Channel {
  readonly #legacy: LegacyChannel;
  readonly #modern: ModernEra;
  readonly #caller: Caller;

  constructor(legacy: LegacyChannel, modern: ModernEra, caller: Caller) {
    this.#legacy = legacy;
    this.#modern = modern;
    this.#caller = caller;
  }

  receive(message: RpcMessage): ChannelReply {
    return message.type === "request" && claimsModern(message.params)
      ? this.#modern.receive(message, this.#caller)
      : this.#legacy.receive(message);
  }

  end(reason: string): void {
    this.#legacy.end(reason);
  }
}

/**
 * True if a request is modern: it has modern metadata, or its version header names a version that
 * is not a legacy one.
 */
export function isModern(headers: RequestHeaders, body: unknown): boolean {
  if (isObject(body) && claimsModern(body.params)) return true;
  const { version } = headers;
  return version !== null && !isLegacyVersion(version);
}
