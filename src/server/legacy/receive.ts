/**
 * The legacy era over HTTP: clients that send `initialize` and have a session, whose id is in a
 * header. Every message gets a reply; `receive` never throws.
 */
import type { RpcMessage } from "../../wire/json-rpc.ts";
import { isLegacyVersion } from "../../wire/versions.ts";
import type { ServerCore } from "../core.ts";
import {
  ACCEPTED,
  busy,
  type Caller,
  later,
  type Refused,
  type Reply,
  type SessionEra,
  type Value,
} from "../reply.ts";
import { isRun } from "../run-target.ts";
import { receiveBatch } from "./batch.ts";
import { ClientSession } from "./client-session.ts";
import { ClientSessions, type Found } from "./client-sessions.ts";
import { CHANGE_NOT_STORED, LEGACY_ERRORS, notTaken, sessionGone } from "./refusals.ts";
import { CallReply, Reconnection } from "./reply.ts";
import { resumeStream } from "./resume.ts";
import { ASSUMED_VERSION, SessionlessClient } from "./sessionless.ts";
import { type Received, receiveMessage } from "./receive-message.ts";

export class LegacyEra implements SessionEra {
  readonly #core: ServerCore;
  readonly sessions: ClientSessions;

  constructor(core: ServerCore) {
    this.#core = core;
    this.sessions = new ClientSessions(core, core.clients);
  }

  receive(message: RpcMessage, caller: Caller): Reply {
    if (message.type === "request" && message.method === "initialize") {
      return this.#initialize(message, caller);
    }
    const client = this.#client(caller);
    if (client instanceof ClientSession) return this.#receive(client, message, caller);
    return withClient(client, (client) => this.#receive(client, message, caller));
  }

  #receive(client: ClientSession, message: RpcMessage, caller: Caller): Reply {
    // Check the limit before the call runs: a refused call must have no side effects.
    if (message.type === "request" && isRun(message.method)) {
      const problem = this.#core.refusesStream(client.principal);
      if (problem !== undefined) return busy(message.id, problem, LEGACY_ERRORS);
    }
    return this.#reply(client, receiveMessage(client, message, caller));
  }

  resume(caller: Caller): Reply {
    return withClient(this.#client(caller), (client) => {
      client.lastSeen = this.#core.deadlines.now();
      client.who = caller.who;
      const lastEventId = caller.headers?.all.get("last-event-id") ?? null;
      if (lastEventId !== null) return resumeStream(client, lastEventId, caller);
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

  #initialize(message: RpcMessage, caller: Caller): Reply {
    const client = this.sessions.create(caller.principal);
    if (typeof client === "string") return busy(undefined, client, LEGACY_ERRORS);
    const reply = receiveMessage(client, message, caller) as Value | Refused;
    return later(this.#introduced(client, reply), (reply) => reply);
  }

  /** Keeps a new session only if `initialize` succeeded and the session could be stored. */
  async #introduced(client: ClientSession, reply: Value | Refused): Promise<Value | Refused> {
    if (reply.type === "refused") {
      await this.sessions.end(client, "the session was refused");
      return reply;
    }
    if (!client.initialized) {
      await this.sessions.end(client, "the session was not initialized");
      return reply;
    }
    if (this.sessions.kept && !await this.sessions.saved(client)) {
      await this.sessions.end(client, "the session could not be stored").catch(() => {});
      const problem = "Cannot start a session: it could not be stored; try again later";
      return busy(undefined, problem, LEGACY_ERRORS);
    }
    return { ...reply, clientSession: client.id };
  }

  /** Finds the client session of a request. Returns a promise if the session is not in memory. */
  #client({ principal, headers }: Caller): FoundClient | Promise<FoundClient> {
    const version = headers?.version ?? null;
    if (version !== null && !isLegacyVersion(version)) {
      return notTaken(
        `Cannot serve protocol version "${version}": it is not supported; send the version that initialize returned`,
      );
    }
    const id = headers?.session ?? null;
    if (id === null) {
      return new SessionlessClient(principal, this.#core, version ?? ASSUMED_VERSION);
    }
    const found = this.sessions.lookup(id, principal);
    if (found instanceof ClientSession) return found;
    return found instanceof Promise ? found.then(foundClient) : foundClient(found);
  }

  /** Turns a result into a reply. Fast path: a call that ended with one message needs no stream. */
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
    return { type: "value", text: answer };
  }

  /** Stores a change to a client session before acknowledging it. */
  #replyOnceSaved(client: ClientSession, received: Received | Promise<Received>): Reply {
    return later(this.sessions.saved(client), (saved) => {
      if (saved) return this.#reply(client, received);
      if ("type" in received && received.type === "call") {
        received.call.cancel("the server could not store the session");
      }
      return busy(undefined, CHANGE_NOT_STORED, LEGACY_ERRORS);
    });
  }

  /** Handles a batch of messages. Only revision 2025-03-26 has batches. */
  receiveBatch(items: readonly unknown[], caller: Caller): Reply {
    return withClient(
      this.#client(caller),
      (client) =>
        later(receiveBatch(this.sessions, client, items, caller, receiveMessage), (reply) => reply),
    );
  }
}

/** The client session of a request, or a refusal if it has none. */
type FoundClient = ClientSession | Refused;

function foundClient(found: Found): FoundClient {
  if (found === undefined) return sessionGone();
  if (found !== "no room") return found;
  const problem = "Cannot restore the session: the server has reached its limit; try again later";
  return busy(undefined, problem, LEGACY_ERRORS);
}

function withClient(
  client: FoundClient | Promise<FoundClient>,
  use: (client: ClientSession) => Reply,
): Reply {
  if (client instanceof Promise) return later(client, (client) => withClient(client, use));
  return client instanceof ClientSession ? use(client) : client;
}
