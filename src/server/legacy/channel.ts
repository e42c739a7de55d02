/**
 * A legacy client whose messages all use one channel: stdio, or the HTTP+SSE transport of revision
 * 2024-11-05. The channel belongs to one client, so no header names its session.
 */
import type { RpcMessage } from "../../wire/json-rpc.ts";
import type { CheckedCaller } from "../access.ts";
import type { ServerCore } from "../core.ts";
import type { Send } from "../feed.ts";
import { ACCEPTED, type ChannelReply, later } from "../reply.ts";
import { ClientSession } from "./client-session.ts";
import { notTaken } from "./refusals.ts";
import { type Received, receiveMessage } from "./receive-message.ts";

/** The caller on a channel such as stdio, who may do everything. */
const NOBODY: CheckedCaller = {};

/** A legacy client on a channel on which all messages to the client are sent. */
export class LegacyChannel {
  readonly #core: ServerCore;
  readonly #principal: string;
  readonly #send: Send;
  #client: ClientSession | undefined;

  constructor(core: ServerCore, principal: string, send: Send) {
    this.#core = core;
    this.#principal = principal;
    this.#send = send;
  }

  receive(message: RpcMessage): ChannelReply {
    if (message.type === "request" && message.method === "initialize") this.#start();
    return this.#client ? receiveShared(this.#client, message) : notInitialized(message);
  }

  end(reason: string): void {
    this.#client?.end(reason);
  }

  #start(): void {
    this.end("the client sent initialize again");
    const { notifications } = this.#client = new ClientSession("", this.#principal, this.#core);
    notifications.watch(() => notifications.read(this.#send));
  }
}

/** Handles a message of a client whose replies are all sent on one channel. */
export function receiveShared(
  client: ClientSession,
  message: RpcMessage,
  caller: CheckedCaller = NOBODY,
): ChannelReply {
  client.lastSeen = client.core.deadlines.now();
  return sharedReply(receiveMessage(client, message, caller));
}

function sharedReply(received: Received | Promise<Received>): ChannelReply {
  if (received instanceof Promise) return later(received, sharedReply);
  if (received.type !== "call") return received;
  const { call } = received;
  call.client.core.registry.hold(call.session);
  return { type: "stream", stream: call };
}

function notInitialized(message: RpcMessage): ChannelReply {
  switch (message.type) {
    case "notification":
      return ACCEPTED;
    case "invalid":
      return notTaken(
        `Cannot read the message: ${message.problem}; send JSON-RPC 2.0`,
        message.id,
      );
    default:
      return notTaken(
        "Cannot serve the request: the connection is not initialized; send initialize first, or add the _meta fields of revision 2026-07-28",
        message.type === "answer" ? undefined : message.id,
      );
  }
}
