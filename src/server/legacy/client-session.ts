/**
 * A client of the legacy era, from `initialize` to the end: what it said about
 * itself, and the calls it has under way. It knows messages, but no transport.
 */
import type { Deadline } from "../../lib/deadlines.ts";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientInfo, LogLevel, ServerChange } from "../../model/events.ts";
import { estimateSize } from "../../session/event-log.ts";
import { notificationText, type RpcId } from "../../wire/json-rpc.ts";
import { declaredCapabilities } from "../../wire/legacy/capabilities.ts";
import { cut, MAX_NAME_LENGTH } from "../../wire/lengths.ts";
import type { LegacyVersion } from "../../wire/versions.ts";
import type { ServerCore } from "../core.ts";
import { sizeOfUri } from "../run-target.ts";
import type { Call } from "./call.ts";
import type { KeptClient } from "./client-record.ts";
import { NotificationStream } from "./notification-stream.ts";
import type { CallStream } from "./stream.ts";

/** Something under way that can be stopped. */
interface Stoppable {
  halt(): void;
}

export class ClientSession {
  readonly id: string;
  readonly principal: string;
  readonly core: ServerCore;
  version: LegacyVersion = "2025-11-25";
  info: ClientInfo = { capabilities: {} };
  /** True for a request that names no session: it is served by itself, and nothing is kept. */
  readonly sessionless: boolean = false;
  initialized = false;
  ended = false;
  logLevel: LogLevel = "info";
  lastSeen: number;
  /** When it was last put behind all the others. */
  placedAt: number;
  /** When it is forgotten, if nobody uses it. */
  expiry: Deadline | undefined;
  /** Calls under way, by the ids that the client gave them. */
  readonly calls = new Map<RpcId, Call>();
  /** Those, and the ones that ended lately, by the ids of their sessions. */
  readonly callsBySession = new Map<string, Call>();
  /** Lists and completions that take a while, by the ids that the client gave them. */
  readonly queries = new Map<RpcId, Stoppable>();
  /** Streams that can be resumed, by number. */
  readonly streams = new Map<number, CallStream>();
  readonly notifications = new NotificationStream();
  readonly subscriptions: ReadonlySet<string> = new Set<string>();
  /** What the server told of itself; it never speaks of anything else. */
  offered: JsonObject = {};
  lastStream = 0;
  /** Until when it is on record, where it is kept. */
  keptUntil = 0;
  /** Something about it has changed that is to be on record before it is acknowledged. */
  changed = false;
  /** Its client has ended it: it never goes on record again. */
  endedForGood = false;
  /** Bytes that count as its caller's. */
  #bytes = 0;
  protected readonly deafen: () => void;

  constructor(id: string, principal: string, core: ServerCore) {
    this.id = id;
    this.principal = principal;
    this.core = core;
    this.lastSeen = this.placedAt = core.deadlines.now();
    this.deafen = core.changes.listen((change) => this.#hear(change));
  }

  /** What each side told the other in `initialize`. */
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
  }

  subscribe(uri: string): void {
    if (this.subscriptions.has(uri)) return;
    this.#hold(sizeOfUri(uri), `subscribe to "${uri}"`);
    (this.subscriptions as Set<string>).add(uri);
  }

  unsubscribe(uri: string): void {
    if ((this.subscriptions as Set<string>).delete(uri)) this.#hold(-sizeOfUri(uri));
  }

  /** Counts bytes that are kept for it as its caller's. Throws if there is no room for them. */
  #hold(bytes: number, verb?: string): void {
    const { budget } = this.core.registry;
    if (verb === undefined) budget.memory.take(this.principal, bytes);
    else budget.hold(this.principal, bytes, verb);
    this.#bytes += bytes;
  }

  /** Takes up what was kept of it. */
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

  /** From here on the stream can be left and found again. */
  keep(stream: CallStream): void {
    for (const call of stream.calls) {
      call.stream = stream;
      if (!call.isHere) continue;
      this.core.registry.keep(call.session);
      if (!call.isGone) this.callsBySession.set(call.sessionId, call);
    }
    if (stream.calls.some((call) => !call.isGone)) this.streams.set(stream.number, stream);
  }

  /** Calls that stand in the way of a new one, but have left memory and may have ended since. */
  absentInTheWayOf(id: RpcId): Call[] {
    const same = this.calls.get(id);
    return (same ? [same] : [...this.calls.values()]).filter((call) => !call.isHere);
  }

  /** True while it is worth keeping although the client is silent. */
  get busy(): boolean {
    if (this.queries.size > 0 || this.notifications.connection) return true;
    for (const call of this.calls.values()) if (this.keptUntil === 0 || call.isHere) return true;
    for (const stream of this.streams.values()) if (stream.connection) return true;
    return false;
  }

  /**
   * Halts all calls and ends all streams. Where it is the server that goes, calls
   * that can be taken up again are left for then.
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

  #hear(change: ServerChange): void {
    if (change.type === "list_changed") {
      if (!isObject(this.offered[change.list])) return;
      this.notifications.post(notificationText(`notifications/${change.list}/list_changed`));
    } else if (this.subscriptions.has(change.uri)) {
      this.notifications.post(
        notificationText("notifications/resources/updated", { uri: change.uri }),
      );
    }
  }
}
