/**
 * The session of one legacy client, from `initialize` until the session ends. It contains the
 * client's capabilities and settings, its running calls and its streams. It does not depend on the
 * transport.
 */
import type { Deadline } from "../../lib/deadlines.ts";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientInfo, LogLevel, ServerChange } from "../../model/events.ts";
import type { Principal } from "../../model/principal.ts";
import type { Served } from "../../tool/skill.ts";
import { estimateSize } from "../../session/estimate-size.ts";
import { notificationText, type RpcId } from "../../wire/json-rpc.ts";
import { declaredCapabilities } from "../../wire/legacy/capabilities.ts";
import { cut, MAX_NAME_LENGTH } from "../../wire/lengths.ts";
import type { LegacyVersion } from "../../wire/versions.ts";
import type { ServerCore } from "../core.ts";
import { resourceAt, sizeOfUri } from "../run-target.ts";
import type { Call } from "./call.ts";
import type { KeptClient } from "./client-record.ts";
import { NotificationStream } from "./notification-stream.ts";
import type { CallStream } from "./stream.ts";

/** A running operation that can be stopped. */
interface Stoppable {
  halt(): void;
}

export class ClientSession {
  readonly id: string;
  readonly principal: string;
  /** The caller of the latest request. Undefined if the server does not check its callers. */
  who: Principal | undefined;
  readonly core: ServerCore;
  version: LegacyVersion = "2025-11-25";
  info: ClientInfo = { capabilities: {} };
  /** True for a request without a session id. The server keeps no state after such a request. */
  readonly sessionless: boolean = false;
  initialized = false;
  ended = false;
  logLevel: LogLevel = "info";
  lastSeen: number;
  /** When `ClientSessions` last moved this session to the end of its list. */
  placedAt: number;
  /** The timer that removes the idle session from memory. */
  expiry: Deadline | undefined;
  /** Running calls, by JSON-RPC request id. */
  readonly calls = new Map<RpcId, Call>();
  /** Calls that the client can resume, running or recently ended, by tool session id. */
  readonly callsBySession = new Map<string, Call>();
  /** Running list and completion requests, by JSON-RPC request id. */
  readonly queries = new Map<RpcId, Stoppable>();
  /** Resumable streams, by stream number. */
  readonly streams = new Map<number, CallStream>();
  readonly notifications = new NotificationStream();
  readonly subscriptions: ReadonlySet<string> = new Set<string>();
  /**
   * The server capabilities sent in `initialize`. `list_changed` is sent only for the lists that
   * they contain.
   */
  offered: JsonObject = {};
  lastStream = 0;
  /** When the stored record expires. 0 if the session is not stored. */
  keptUntil = 0;
  /** True if a change must be stored before the server acknowledges the request. */
  changed = false;
  /** True after the session was ended permanently. It is never stored again. */
  endedForGood = false;
  #introducedAt: number | undefined;
  /** Bytes counted against the caller's memory budget. */
  #bytes = 0;
  protected readonly deafen: () => void;

  constructor(id: string, principal: string, core: ServerCore) {
    this.id = id;
    this.principal = principal;
    this.core = core;
    this.lastSeen = this.placedAt = core.deadlines.now();
    this.deafen = core.changes.listen((change, about) => this.#hear(change, about));
  }

  /** Remembers what the client and the server sent each other in `initialize`. */
  introduce(
    version: LegacyVersion,
    { name, version: clientVersion }: { name?: unknown; version?: unknown },
    capabilities: JsonObject,
    offered: JsonObject,
  ): void {
    const info = {
      ...(typeof name === "string" && { name: cut(name, MAX_NAME_LENGTH) }),
      ...(typeof clientVersion === "string" && { version: cut(clientVersion, MAX_NAME_LENGTH) }),
      protocolVersion: version,
      capabilities: declaredCapabilities(capabilities, version),
    };
    this.#hold(estimateSize(info) - estimateSize(this.info), "start a session");
    this.version = version;
    this.initialized = true;
    this.offered = offered;
    this.info = info;
    this.#introducedAt = this.core.deadlines.now();
  }

  /** Called when the client confirms the reply to `initialize`, which it does without a person. */
  ready(): void {
    if (this.#introducedAt === undefined) return;
    const { info: client, principal, core: { deadlines, pages } } = this;
    pages.doors.observe?.({ client, principal }, deadlines.now() - this.#introducedAt);
    this.#introducedAt = undefined;
  }

  subscribe(uri: string): void {
    if (this.subscriptions.has(uri)) return;
    this.#hold(sizeOfUri(uri), `subscribe to "${uri}"`);
    (this.subscriptions as Set<string>).add(uri);
  }

  unsubscribe(uri: string): void {
    if ((this.subscriptions as Set<string>).delete(uri)) this.#hold(-sizeOfUri(uri));
  }

  /**
   * Counts bytes against the caller's memory budget. If `verb` is given, throws when the budget is
   * exceeded; `verb` is part of the error message.
   */
  #hold(bytes: number, verb?: string): void {
    const { budget } = this.core.registry;
    if (verb === undefined) budget.memory.take(this.principal, bytes);
    else budget.hold(this.principal, bytes, verb);
    this.#bytes += bytes;
  }

  /** Restores the session from its stored record. */
  restore({ version, info, offered, logLevel, subscriptions, lastStream }: KeptClient): void {
    this.initialized = true;
    this.version = version;
    this.info = info;
    this.offered = offered;
    this.logLevel = logLevel;
    this.#hold(estimateSize(info));
    for (const uri of subscriptions) {
      (this.subscriptions as Set<string>).add(uri);
      this.#hold(sizeOfUri(uri));
    }
    this.lastStream = lastStream;
    this.notifications.restore(this.lastSeen);
  }

  nextStream(): number {
    return ++this.lastStream;
  }

  /** Where the views of this client look for its calls. */
  get viewScope(): object | string | undefined {
    if (this.principal !== "") return this.principal;
    return this.sessionless ? undefined : this;
  }

  /** Makes a stream resumable after its client disconnects. */
  keep(stream: CallStream): void {
    for (const call of stream.calls) {
      call.joinStream(stream);
      if (!call.isHere) continue;
      this.core.registry.keep(call.session);
      if (!call.isGone) this.callsBySession.set(call.sessionId, call);
    }
    if (stream.calls.some((call) => !call.isGone)) this.streams.set(stream.number, stream);
  }

  /**
   * The calls that may block a new call with this id and whose sessions are not in memory. Such a
   * call may have ended on another server.
   */
  absentInTheWayOf(id: RpcId): Call[] {
    const same = this.calls.get(id);
    return (same ? [same] : [...this.calls.values()]).filter((call) => !call.isHere);
  }

  /** True while the session must stay in memory even if the client sends nothing. */
  get busy(): boolean {
    if (this.queries.size > 0 || this.notifications.connection) return true;
    for (const call of this.calls.values()) if (this.keptUntil === 0 || call.isHere) return true;
    for (const stream of this.streams.values()) if (stream.connection) return true;
    return false;
  }

  /**
   * Cancels all calls and ends all streams. If `serverGoes` is true, durable calls are not
   * cancelled, so that they can be resumed later.
   */
  end(reason: string, serverGoes = false): Promise<unknown> {
    this.ended = true;
    this.#hold(-this.#bytes);
    this.deafen();
    const cancelled = [...this.calls.values()]
      .filter((call) => !serverGoes || !call.durable)
      .map((call) => call.cancel(reason));
    for (const query of [...this.queries.values()]) query.halt();
    for (const stream of [...this.streams.values()]) stream.connection?.end();
    this.notifications.connection?.end();
    this.streams.clear();
    return Promise.all(cancelled);
  }

  #hear(change: ServerChange, about: Served | undefined): void {
    const { access } = this.core;
    if (about && !access.shows(about, this.who)) return;
    if (change.type === "list_changed") {
      if (!isObject(this.offered[change.list])) return;
      this.notifications.post(notificationText(`notifications/${change.list}/list_changed`));
    } else if (this.subscriptions.has(change.uri)) {
      const found = resourceAt(this.core, change.uri, this);
      if (found && !access.allows(found.resource, this.who)) return;
      this.notifications.post(
        notificationText("notifications/resources/updated", { uri: change.uri }),
      );
    }
  }
}
