/**
 * A client of the legacy era, from `initialize` to the end: what it said about
 * itself, and the calls it has under way. It knows messages, but no transport.
 */
import type { ClientCapabilities, ClientInfo, LogLevel, ServerChange } from "../../events.ts";
import { notificationText, type RpcId } from "../../protocol/json-rpc.ts";
import type { LegacyVersion } from "../../protocol/versions.ts";
import type { Deadline } from "../../runtime/deadlines.ts";
import type { ServerCore } from "../core.ts";
import type { Call } from "./call.ts";
import type { CallStream } from "./call-stream.ts";
import { StandingStream } from "./standing-stream.ts";

export class ClientSession {
  readonly id: string;
  readonly principal: string;
  readonly core: ServerCore;
  version: LegacyVersion = "2025-11-25";
  info: ClientInfo = { capabilities: {} };
  logLevel: LogLevel = "info";
  lastSeen: number;
  /** When it is forgotten, if nobody uses it. */
  expiry: Deadline | undefined;
  /** Calls under way, by the ids that the client gave them. */
  readonly calls = new Map<RpcId, Call>();
  /** Those, and the ones that ended lately, by the ids of their sessions. */
  readonly callsBySession = new Map<string, Call>();
  /** Streams that can be resumed, by number. */
  readonly streams = new Map<number, CallStream>();
  readonly standing = new StandingStream();
  readonly subscriptions = new Set<string>();
  #lastStream = 0;
  #deafen: () => void;

  constructor(id: string, principal: string, core: ServerCore) {
    this.id = id;
    this.principal = principal;
    this.core = core;
    this.lastSeen = core.deadlines.now();
    this.#deafen = core.changes.listen((change) => this.#hear(change));
  }

  /** What the client told in `initialize`. */
  introduce(
    version: LegacyVersion,
    { name, version: clientVersion }: { name?: unknown; version?: unknown },
    capabilities: ClientCapabilities,
  ): void {
    this.version = version;
    this.info = {
      ...(typeof name === "string" && { name }),
      ...(typeof clientVersion === "string" && { version: clientVersion }),
      protocolVersion: version,
      capabilities,
    };
  }

  nextStream(): number {
    return ++this.#lastStream;
  }

  /** True while it is worth keeping although the client is silent. */
  get busy(): boolean {
    if (this.calls.size > 0 || this.standing.connection) return true;
    for (const stream of this.streams.values()) if (stream.connection) return true;
    return false;
  }

  /** Halts all calls and ends all streams. */
  end(reason: string): void {
    this.#deafen();
    for (const call of [...this.calls.values()]) call.session.halt(reason, "caller");
    for (const stream of [...this.streams.values()]) stream.connection?.end();
    this.standing.connection?.end();
    this.streams.clear();
  }

  #hear(change: ServerChange): void {
    if (change.type === "list_changed") {
      this.standing.post(notificationText(`notifications/${change.list}/list_changed`));
    } else if (this.subscriptions.has(change.uri)) {
      this.standing.post(notificationText("notifications/resources/updated", { uri: change.uri }));
    }
  }
}
