/** JSON-RPC batches, with a limit on the total size of their responses. */
import { INVALID_REQUEST, RESOURCE_NOT_FOUND, SERVER_BUSY } from "../../model/rpc-codes.ts";
import { errorText, readMessage, type RpcId, type RpcMessage } from "../../wire/json-rpc.ts";
import { InsufficientScopeError } from "../access.ts";
import type { ServerCore } from "../core.ts";
import {
  ACCEPTED,
  ANSWER_NOT_STORED,
  busy,
  type Caller,
  forbidden,
  type Refused,
  type Reply,
  textOf,
  type Value,
  value,
} from "../reply.ts";
import { isRun, targetOf, tooLongABatch } from "../run-target.ts";
import type { Call } from "./call.ts";
import type { ClientSession } from "./client-session.ts";
import type { ClientSessions } from "./client-sessions.ts";
import type { Received } from "./receive-message.ts";
import { CHANGE_NOT_STORED, LEGACY_ERRORS, notTaken } from "./refusals.ts";
import { CallReply } from "./reply.ts";

/** Handles one message of a client. */
type Receive = (
  client: ClientSession,
  message: RpcMessage,
  caller: Caller,
) => Received | Promise<Received>;

type ReceiveOne = (client: ClientSession, message: RpcMessage) => Received | Promise<Received>;

/** The refusal of a batch with a call for which the caller lacks a scope. No call has started. */
function lacksScope(
  core: ServerCore,
  items: readonly unknown[],
  caller: Caller,
): Refused | undefined {
  for (const item of items) {
    const message = readMessage(item);
    if (message.type !== "request" || !isRun(message.method)) continue;
    try {
      targetOf(core, message.method, message.params, RESOURCE_NOT_FOUND, caller);
    } catch (error) {
      if (error instanceof InsufficientScopeError) return forbidden(error);
    }
  }
  return undefined;
}

/** Handles the messages of a batch one after another, and sends one reply for all of them. */
export async function receiveBatch(
  sessions: ClientSessions,
  client: ClientSession,
  items: readonly unknown[],
  caller: Caller,
  receive: Receive,
): Promise<Reply> {
  if (client.sessionless) {
    return notTaken(
      "Cannot accept the batch: it has no session id; send initialize first, or send each message on its own",
    );
  }
  if (client.version !== "2025-03-26") {
    return notTaken(
      `Cannot accept the batch: protocol version ${client.version} does not support batches; send each message on its own`,
    );
  }
  if (items.length === 0) {
    return notTaken("Cannot accept the batch: it is empty; send one message or more");
  }
  const { maxBatch, maxBatchAnswer } = client.core.limits;
  if (items.length > maxBatch) return notTaken(tooLongABatch(items.length, maxBatch));
  const refusal = lacksScope(client.core, items, caller);
  if (refusal) return refusal;
  const replies = new BatchReplies(
    maxBatchAnswer,
    (client, message) => receive(client, message, caller),
  );
  const calls: Call[] = [];
  const records: Promise<boolean>[] = [];
  let problem: string | undefined;
  for (const item of items) {
    const message = readMessage(item);
    const first = replies.receive(client, message);
    const received = first instanceof Promise ? await first : first;
    const id = message.type === "request" ? message.id : undefined;
    switch (received.type) {
      case "call":
        calls.push(received.call);
        break;
      case "value":
        replies.add(id, received.text);
        break;
      case "later":
        replies.add(id, received.ready.then(() => textOf(received.reply() as Value)));
        break;
      case "accepted":
        if (received.recorded) records.push(received.recorded);
        break;
      case "refused": {
        const { message } = received.error;
        // A message without an id cannot have its own response, so refuse the whole batch.
        if (received.id === undefined) problem ??= message;
        else {
          replies.add(received.id, errorText(received.id, { code: INVALID_REQUEST, message }));
        }
      }
    }
  }
  const texts = await replies.settled();
  if (client.changed && sessions.kept && !await sessions.saved(client)) {
    for (const call of calls) call.cancel("the server could not store the session");
    return busy(undefined, CHANGE_NOT_STORED, LEGACY_ERRORS);
  }
  if ((await Promise.all(records)).includes(false)) {
    return busy(undefined, ANSWER_NOT_STORED, LEGACY_ERRORS);
  }
  if (replies.size === 0 && calls.length === 0) {
    return problem === undefined ? ACCEPTED : notTaken(problem);
  }
  return { type: "stream", stream: new CallReply(sessions, client, calls, texts) };
}

/**
 * The responses to the messages of a batch that are not calls. They share one size limit, because
 * the response to a list request is much longer than the request. If the limit is reached, further
 * requests get an error.
 */
class BatchReplies {
  readonly #room: number;
  readonly #receive: ReceiveOne;
  #taken = 0;
  readonly #texts: (string | Promise<string>)[] = [];

  constructor(room: number, receive: ReceiveOne) {
    this.#room = room;
    this.#receive = receive;
  }

  get size(): number {
    return this.#texts.length;
  }

  /** Handles a message. If the size limit is reached, requests other than calls get an error. */
  receive(client: ClientSession, message: RpcMessage): Received | Promise<Received> {
    if (message.type !== "request") return this.#receive(client, message);
    const { id, method } = message;
    if (method === "initialize") {
      return notTaken("Cannot initialize: the request is part of a batch; send it on its own", id);
    }
    if (this.#taken < this.#room || isRun(method)) return this.#receive(client, message);
    return value(this.#noRoom(id));
  }

  add(id: RpcId | undefined, text: string | Promise<string>): void {
    this.#texts.push(
      typeof text === "string" ? this.#counted(text) : text.then((text) => {
        // Other responses may have used up the limit while this one was computed.
        return this.#taken < this.#room ? this.#counted(text) : this.#noRoom(id);
      }),
    );
  }

  settled(): Promise<string[]> {
    return Promise.all(this.#texts);
  }

  #counted(text: string): string {
    this.#taken += text.length;
    return text;
  }

  #noRoom(id: RpcId | undefined): string {
    const message =
      `Cannot answer in this batch: its answers are longer than ${this.#room} characters; send the request on its own`;
    return errorText(id, { code: SERVER_BUSY, message });
  }
}
