/**
 * The legacy era: clients that send `initialize` and keep a session. Over HTTP a header names
 * the session; a channel has one client (`LegacyChannel`).
 */
import { INVALID_REQUEST } from "../../model/rpc-codes.ts";
import { errorText, readMessage, type RpcMessage } from "../../wire/json-rpc.ts";
import { isLegacyVersion } from "../../wire/versions.ts";
import type { ServerCore } from "../core.ts";
import type { Send } from "../feed.ts";
import {
  ACCEPTED,
  ANSWER_NOT_STORED,
  busy,
  type Caller,
  later,
  type Refused,
  type Reply,
  SESSION_HEADER,
  type SessionEra,
  textOf,
  type Value,
  value,
} from "../reply.ts";
import { isRun, tooLongABatch } from "../run-target.ts";
import { BatchReplies } from "./batch.ts";
import type { Call } from "./call.ts";
import { ClientSession } from "./client-session.ts";
import { ClientSessions, type Found } from "./client-sessions.ts";
import { receive, type Received } from "./receive.ts";
import { LEGACY_ERRORS, notTaken, sessionGone } from "./refusals.ts";
import { CallReply, Reconnection } from "./reply.ts";
import { resumeStream } from "./resume.ts";
import { ASSUMED_VERSION, SessionlessClient } from "./sessionless.ts";

const CHANGE_NOT_STORED = "Cannot keep what was asked for: it could not be stored; try again later";

export class LegacyEra implements SessionEra {
  readonly #core: ServerCore;
  readonly sessions: ClientSessions;

  constructor(core: ServerCore) {
    this.#core = core;
    this.sessions = new ClientSessions(core, core.clients);
  }

  receive(message: RpcMessage, caller: Caller): Reply {
    if (message.type === "request" && message.method === "initialize") {
      return this.#initialize(message, caller.principal);
    }
    const client = this.#client(caller);
    if (client instanceof ClientSession) return this.#receive(client, message);
    return withClient(client, (client) => this.#receive(client, message));
  }

  #receive(client: ClientSession, message: RpcMessage): Reply {
    // Before it runs: a call that is refused must not have done anything.
    if (message.type === "request" && isRun(message.method)) {
      const problem = this.#core.refusesStream(client.principal);
      if (problem !== undefined) return busy(message.id, problem, LEGACY_ERRORS);
    }
    return this.#reply(client, receive(client, message));
  }

  resume(caller: Caller): Reply {
    return withClient(this.#client(caller), (client) => {
      client.lastSeen = this.#core.deadlines.now();
      const lastEventId = caller.headers?.get("last-event-id") ?? null;
      if (lastEventId !== null) return resumeStream(client, lastEventId);
      return { type: "stream", stream: new Reconnection(client, client.notifications) };
    });
  }

  end(caller: Caller): Reply {
    return withClient(
      this.#client(caller),
      (client) => later(this.sessions.end(client, "the client ended its session"), () => ACCEPTED),
    );
  }

  drain(): void {}

  stop(): void {}

  close(reason: string): void {
    this.sessions.endAll(reason);
  }

  #initialize(message: RpcMessage, principal: string): Reply {
    const client = this.sessions.create(principal);
    if (typeof client === "string") return busy(undefined, client, LEGACY_ERRORS);
    const reply = receive(client, message) as Value | Refused;
    return later(this.#introduced(client, reply), (reply) => reply);
  }

  /** Keeps a new session only if its client has told who it is, and if it can be stored. */
  async #introduced(client: ClientSession, reply: Value | Refused): Promise<Value | Refused> {
    if (reply.type === "refused") {
      await this.sessions.end(client, "there was no room for it");
      return reply;
    }
    if (!client.initialized) {
      await this.sessions.end(client, "it was not initialized");
      return reply;
    }
    if (this.sessions.kept && !await this.sessions.saved(client)) {
      await this.sessions.end(client, "it could not be stored").catch(() => {});
      const problem = "Cannot start a session: it could not be stored; try again later";
      return busy(undefined, problem, LEGACY_ERRORS);
    }
    return { ...reply, clientSession: client.id };
  }

  /** Finds the client session that a request belongs to. Most are in memory. */
  #client({ principal, headers }: Caller): FoundClient | Promise<FoundClient> {
    const version = headers?.get("mcp-protocol-version") ?? null;
    if (version !== null && !isLegacyVersion(version)) {
      return notTaken(
        `Cannot serve protocol version "${version}": it is unknown here; send the one that initialize agreed on`,
      );
    }
    const id = headers?.get(SESSION_HEADER) ?? null;
    if (id === null) {
      return new SessionlessClient(principal, this.#core, version ?? ASSUMED_VERSION);
    }
    const found = this.sessions.lookup(id, principal);
    return found instanceof Promise ? found.then(foundClient) : foundClient(found);
  }

  /** Most calls end at once with a single message, and need neither a stream nor an object for it. */
  #reply(client: ClientSession, received: Received | Promise<Received>): Reply {
    if (client.changed && this.sessions.kept) return this.#replyOnceSaved(client, received);
    if (received instanceof Promise) {
      return later(received, (received) => this.#reply(client, received));
    }
    if (received.type !== "call") return received;
    const { call } = received;
    const answer = call.onlyMessage;
    if (typeof answer !== "string") {
      return { type: "stream", stream: new CallReply(this.sessions, client, [call]) };
    }
    this.#core.registry.forget(call.session);
    return value(answer);
  }

  /** A change to a client session is stored before it is acknowledged. */
  #replyOnceSaved(client: ClientSession, received: Received | Promise<Received>): Reply {
    return later(this.sessions.saved(client), (saved) => {
      if (saved) return this.#reply(client, received);
      if ("type" in received && received.type === "call") {
        received.call.cancel("the server could not keep it");
      }
      return busy(undefined, CHANGE_NOT_STORED, LEGACY_ERRORS);
    });
  }

  /** Several messages at once, which only revision 2025-03-26 has. */
  receiveBatch(items: readonly unknown[], caller: Caller): Reply {
    return withClient(
      this.#client(caller),
      (client) => later(this.#batch(client, items), (reply) => reply),
    );
  }

  async #batch(client: ClientSession, items: readonly unknown[]): Promise<Reply> {
    if (client.sessionless) {
      return notTaken(
        "Cannot take a batch: it names no session; send initialize first, or each message by itself",
      );
    }
    if (client.version !== "2025-03-26") {
      return notTaken(
        `Cannot take a batch: protocol version ${client.version} has none; send each message by itself`,
      );
    }
    if (items.length === 0) {
      return notTaken("Cannot take a batch: it is empty; send one message or more");
    }
    const { maxBatch, maxBatchAnswer } = this.#core.limits;
    if (items.length > maxBatch) return notTaken(tooLongABatch(items.length, maxBatch));
    const replies = new BatchReplies(maxBatchAnswer);
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
          // Without an id nobody waits for a response: only the whole batch can be refused.
          if (received.id === undefined) problem ??= message;
          else {
            replies.add(received.id, errorText(received.id, { code: INVALID_REQUEST, message }));
          }
        }
      }
    }
    const texts = await replies.settled();
    if (client.changed && this.sessions.kept && !await this.sessions.saved(client)) {
      for (const call of calls) call.cancel("the server could not keep it");
      return busy(undefined, CHANGE_NOT_STORED, LEGACY_ERRORS);
    }
    if ((await Promise.all(records)).includes(false)) {
      return busy(undefined, ANSWER_NOT_STORED, LEGACY_ERRORS);
    }
    if (replies.size === 0 && calls.length === 0) {
      return problem === undefined ? ACCEPTED : notTaken(problem);
    }
    return { type: "stream", stream: new CallReply(this.sessions, client, calls, texts) };
  }
}

/** A legacy client on a channel of its own, where everything it receives goes. */
export class LegacyChannel {
  readonly #core: ServerCore;
  readonly #sessions: ClientSessions;
  readonly #principal: string;
  readonly #send: Send;
  #client: ClientSession | undefined;

  constructor(core: ServerCore, sessions: ClientSessions, principal: string, send: Send) {
    this.#core = core;
    this.#sessions = sessions;
    this.#principal = principal;
    this.#send = send;
  }

  receive(message: RpcMessage): Reply {
    if (message.type === "request" && message.method === "initialize") this.#start();
    return this.#client
      ? receiveShared(this.#sessions, this.#client, message)
      : notInitialized(message);
  }

  end(reason: string): void {
    this.#client?.end(reason);
  }

  #start(): void {
    this.end("the client started anew");
    const { notifications } = this.#client = new ClientSession("", this.#principal, this.#core);
    notifications.watch(() => notifications.read(this.#send));
  }
}

/** Receives a message of a client whose replies share a channel. */
export function receiveShared(
  sessions: ClientSessions,
  client: ClientSession,
  message: RpcMessage,
): Reply {
  const reply = (received: Received | Promise<Received>): Reply => {
    if (received instanceof Promise) return later(received, reply);
    if (received.type !== "call") return received;
    return { type: "stream", stream: new CallReply(sessions, client, [received.call]) };
  };
  return reply(receive(client, message));
}

function notInitialized(message: RpcMessage): Reply {
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
        "Cannot serve the request: nothing says who calls; send initialize first, or the metadata of 2026-07-28",
        message.type === "answer" ? undefined : message.id,
      );
  }
}

/** The client session that a request belongs to, or why there is none. */
type FoundClient = ClientSession | Refused;

function foundClient(found: Found): FoundClient {
  if (found === undefined) return sessionGone();
  if (found !== "no room") return found;
  const problem = "Cannot take the session up: the server has no room for it now; try again later";
  return busy(undefined, problem, LEGACY_ERRORS);
}

function withClient(
  client: FoundClient | Promise<FoundClient>,
  use: (client: ClientSession) => Reply,
): Reply {
  if (client instanceof Promise) return later(client, (client) => withClient(client, use));
  return client instanceof ClientSession ? use(client) : client;
}
