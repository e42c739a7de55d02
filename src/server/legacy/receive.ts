/**
 * The legacy era: clients that send `initialize` and have a session. Over HTTP, a header contains
 * the session id. A channel has only one client. Every message gets a reply; `receive` never throws.
 */
import type { Operation } from "effection";
import { isObject } from "../../lib/json.ts";
import { startOperation } from "../../lib/start-operation.ts";
import type { StrandOutcome } from "../../lib/strand.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  RESOURCE_NOT_FOUND,
} from "../../model/rpc-codes.ts";
import { refusal } from "../../tool/result.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import {
  errorText,
  resultText,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  traceIn,
} from "../../wire/json-rpc.ts";
import { cut, MAX_ID_LENGTH, MAX_REASON_LENGTH } from "../../wire/lengths.ts";
import { TASKS_EXTENSION } from "../../wire/modern/meta.ts";
import { isLegacyVersion } from "../../wire/versions.ts";
import type { CheckedCaller } from "../access.ts";
import type { ServerCore } from "../core.ts";
import { ANSWER_CALL, CONTINUE_CALL } from "../doors/door-tools.ts";
import type { Send } from "../feed.ts";
import { checkQuery, QUERIES } from "../queries.ts";
import {
  ACCEPTED,
  type Accepted,
  busy,
  type Caller,
  type ChannelReply,
  failed,
  type Later,
  later,
  type Refused,
  type Reply,
  rpcErrorOf,
  SESSION_HEADER,
  type SessionEra,
  type Value,
  value,
} from "../reply.ts";
import { isRun, missingCapabilities, type Target, targetOf } from "../run-target.ts";
import { mayShowView } from "../views.ts";
import { answer } from "./answers.ts";
import { receiveBatch } from "./batch.ts";
import { Call } from "./call.ts";
import { ClientSession } from "./client-session.ts";
import { answerLegacyCall, continueLegacyCall } from "./continue.ts";
import { ClientSessions, type Found } from "./client-sessions.ts";
import { CHANGE_NOT_STORED, LEGACY_ERRORS, notTaken, sessionGone } from "./refusals.ts";
import { CallReply, Reconnection } from "./reply.ts";
import { resumeStream } from "./resume.ts";
import { ASSUMED_VERSION, SessionlessClient } from "./sessionless.ts";
import { applySetting } from "./settings.ts";

/** The result of handling a message: a reply, or a call that has started. */
export type Received = Accepted | Refused | Value | Later<never> | CallStarted;

export interface CallStarted {
  readonly type: "call";
  readonly call: Call;
}

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
    return this.#reply(client, receive(client, message, caller));
  }

  resume(caller: Caller): Reply {
    return withClient(this.#client(caller), (client) => {
      client.lastSeen = this.#core.deadlines.now();
      client.who = caller.who;
      const lastEventId = caller.headers?.get("last-event-id") ?? null;
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
    const reply = receive(client, message, caller) as Value | Refused;
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
    const version = headers?.get("mcp-protocol-version") ?? null;
    if (version !== null && !isLegacyVersion(version)) {
      return notTaken(
        `Cannot serve protocol version "${version}": it is not supported; send the version that initialize returned`,
      );
    }
    const id = headers?.get(SESSION_HEADER) ?? null;
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
        later(receiveBatch(this.sessions, client, items, caller, receive), (reply) => reply),
    );
  }
}

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
  return sharedReply(receive(client, message, caller));
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

// ------------------------------------------------------------ one message

/** The caller on a channel such as stdio, who may do everything. */
const NOBODY: CheckedCaller = {};

/** Handles one message. Returns a promise if a call must first be loaded into memory. */
function receive(
  client: ClientSession,
  message: RpcMessage,
  caller: CheckedCaller,
): Received | Promise<Received> {
  client.lastSeen = client.core.deadlines.now();
  client.who = caller.who;
  switch (message.type) {
    case "request":
      return request(client, message, caller);
    case "notification":
      return notification(client, message);
    case "answer":
      return answer(client, message, caller);
    case "invalid": {
      const { id, problem } = message;
      return notTaken(`Cannot read the message: ${problem}; send JSON-RPC 2.0`, id);
    }
  }
}

function request(
  client: ClientSession,
  message: RpcRequest,
  caller: CheckedCaller,
  looked = false,
): Received | Promise<Received> {
  const { id, method, params } = message;
  try {
    if (!client.initialized && method !== "initialize" && method !== "ping") {
      throw new ProtocolError(
        INVALID_REQUEST,
        `Cannot serve "${method}": the session is not initialized; send initialize first`,
      );
    }
    const { core } = client;
    const target = targetOf(core, method, params, RESOURCE_NOT_FOUND, caller);
    if (target) {
      return refusedNow(client, message, caller, looked) ??
        call(client, id, target, params, caller);
    }
    const query = QUERIES[method];
    if (query) {
      checkQuery(core, method, params, caller);
      return refusedNow(client, message, caller, looked) ??
        answered(client, id, () => query(core, params, client.info, caller));
    }
    return value(resultText(id, applySetting(client, method, params, caller)));
  } catch (error) {
    return failed(client.core, id, error, LEGACY_ERRORS);
  }
}

/**
 * Refuses a call or query if the limit is reached or its id is in use. Undefined if it can start.
 * Calls that are not in memory may have ended. So they are loaded first, and the request is tried
 * again.
 */
function refusedNow(
  client: ClientSession,
  message: RpcRequest,
  caller: CheckedCaller,
  looked: boolean,
): Received | Promise<Received> | undefined {
  const { id } = message;
  const { maxCallsPerClientSession } = client.core.limits;
  const isFull = client.calls.size + client.queries.size >= maxCallsPerClientSession;
  const isTwice = client.calls.has(id) || client.queries.has(id);
  if (!isFull && !isTwice) return undefined;
  const absent = looked ? [] : client.absentInTheWayOf(id);
  if (absent.length > 0) {
    const seen = Promise.allSettled(absent.map((call) => call.revive()));
    return seen.then(() => request(client, message, caller, true));
  }
  if (isTwice) {
    const message = `Cannot start request ${
      JSON.stringify(id)
    }: another request with this id is running; use another id`;
    return value(errorText(id, { code: INVALID_REQUEST, message }));
  }
  const problem =
    `Cannot start a call: ${maxCallsPerClientSession} calls are already running; wait until one has ended`;
  return busy(id, problem, LEGACY_ERRORS, 429);
}

function call(
  client: ClientSession,
  id: RpcId,
  target: Target,
  params: JsonObject,
  caller: CheckedCaller,
): Received | Promise<Received> {
  const { definition, args } = target;
  const missing = missingCapabilities(
    definition,
    client.info,
    client.core.pages.doors,
    client.principal,
  );
  if (missing) return value(incapable(client, id, definition, missing));
  const { task } = definition as FinalizedMcpTool;
  if (task?.required) return value(incapable(client, id, definition, { [TASKS_EXTENSION]: {} }));
  const meta = isObject(params._meta) ? params._meta : {};
  if (typeof meta.progressToken === "string" && meta.progressToken.length > MAX_ID_LENGTH) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot start the call: its progressToken is longer than ${MAX_ID_LENGTH} characters; send a shorter one`,
    );
  }
  if (definition === CONTINUE_CALL) return continueLegacyCall(client, id, params, meta, caller);
  if (definition === ANSWER_CALL) return answerLegacyCall(client, id, params, caller);
  const call = new Call(id, client, meta);
  const { info } = client;
  const principal = caller.who ?? client.principal;
  // Without a session, no client could resume the call after a restart.
  const needsCaller = client.sessionless;
  const options = { client: info, principal, trace: traceIn(meta), needsCaller, awaited: true };
  const session = client.core.registry.openFleeting(definition, args, options, call);
  call.begin(session);
  if (client.sessionless) session.stayHere();
  // A call that has already ended is registered by `ClientSession.keep`, if it needs a stream.
  if (!session.outcome) {
    client.calls.set(id, call);
    client.callsBySession.set(session.id, call);
    const scope = client.viewScope;
    if (scope && mayShowView(definition, info)) client.core.apps.expect(session, args, scope);
  }
  return { type: "call", call };
}

/** The response to a client that lacks a capability that the definition requires. */
function incapable(
  client: ClientSession,
  id: RpcId,
  definition: Definition,
  missing: JsonObject,
): string {
  const what = Object.entries(missing)
    .map(([name, modes]) => [name, ...Object.keys(modes as object)].join("."))
    .join(" and ");
  const refused = refusal(
    definition,
    `Cannot run ${definition.kind} "${definition.name}": it needs ${what}, which ${
      client.info.name ?? "this client"
    } does not support; use a client that does`,
  );
  return refused.type === "result" ? resultText(id, refused.result) : errorText(id, refused.error);
}

/** Runs a query. Answers immediately if the query did not have to wait. */
function answered(
  client: ClientSession,
  id: RpcId,
  query: () => Operation<JsonObject>,
): Received {
  const started = startOperation(client.core.registry.scope, query);
  if (started.outcome) return value(outcomeText(client, id, started.outcome));
  client.queries.set(id, started);
  const text = started.ended().then((outcome) => {
    client.queries.delete(id);
    return outcomeText(client, id, outcome);
  });
  return later(text, value, { taken: true });
}

function outcomeText(client: ClientSession, id: RpcId, outcome: StrandOutcome<JsonObject>): string {
  switch (outcome.type) {
    case "returned":
      return resultText(id, outcome.value);
    case "threw":
      return errorText(id, rpcErrorOf(client.core, outcome.error));
    case "halted":
      return errorText(id, {
        code: INTERNAL_ERROR,
        message: "Cannot answer: the request was cancelled; send it again if you still need it",
      });
  }
}

function notification(client: ClientSession, { method, params }: RpcNotification): Received {
  if (method === "notifications/cancelled") {
    const { requestId, reason } = params;
    const why = typeof reason === "string"
      ? cut(reason, MAX_REASON_LENGTH)
      : "cancelled by the client";
    client.queries.get(requestId as RpcId)?.halt();
    const recorded = client.calls.get(requestId as RpcId)?.cancel(why);
    if (recorded) return { type: "accepted", recorded };
  }
  return ACCEPTED;
}
