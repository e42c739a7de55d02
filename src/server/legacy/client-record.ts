/** The stored record of a legacy client session, and how a session is restored from it. */
import type { JsonObject } from "../../model/content.ts";
import type { ClientInfo, LogLevel } from "../../model/events.ts";
import type { RpcId } from "../../wire/json-rpc.ts";
import type { LegacyVersion } from "../../wire/versions.ts";
import { Call } from "./call.ts";
import { CallStream } from "./stream.ts";
import type { ClientSession } from "./client-session.ts";

export interface KeptClient {
  readonly principal: string;
  readonly version: LegacyVersion;
  readonly info: ClientInfo;
  readonly offered: JsonObject;
  readonly logLevel: LogLevel;
  readonly subscriptions: readonly string[];
  readonly lastStream: number;
  readonly streams: readonly KeptStream[];
}

interface KeptStream {
  readonly number: number;
  readonly calls: readonly KeptCall[];
}

interface KeptCall {
  readonly id: RpcId;
  readonly progressToken?: RpcId;
  readonly session: string;
  readonly durable: boolean;
  readonly ended?: boolean;
  readonly seenAt?: number;
}

export function keptClient(client: ClientSession): KeptClient {
  const { principal, version, info, offered, logLevel, lastStream } = client;
  return {
    principal,
    version,
    info,
    offered,
    logLevel,
    subscriptions: [...client.subscriptions],
    lastStream,
    streams: [...client.streams.values()].map(({ number, calls }) => ({
      number,
      calls: calls.map((call) => keptCall(client, call)),
    })),
  };
}

function keptCall(client: ClientSession, call: Call): KeptCall {
  const { id, progressToken, sessionId: session, durable, seenAt } = call;
  return {
    id,
    ...(progressToken !== undefined && { progressToken }),
    session,
    durable,
    ...(client.calls.get(id) !== call && { ended: true }),
    ...(seenAt !== undefined && { seenAt }),
  };
}

/**
 * Restores a client session from its record. The tool sessions of its calls are not loaded here;
 * each is loaded when the client first needs it. Only durable calls count as running. Other calls
 * can only report their outcome, or that the restart lost them.
 */
export function restoreClient(client: ClientSession, kept: KeptClient): void {
  client.restore(kept);
  for (const { number, calls } of kept.streams) {
    const restored = calls.map((one) => {
      const call = new Call(one.id, client, { progressToken: one.progressToken } as JsonObject);
      call.restore(one.session, one.durable, one.seenAt ?? client.lastSeen);
      if (one.durable && !one.ended) client.calls.set(one.id, call);
      client.callsBySession.set(one.session, call);
      return call;
    });
    client.keep(new CallStream(number, restored, client.core.limits.heartbeatInterval));
  }
}
