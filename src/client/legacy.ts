/**
 * A client for revisions up to 2025-11-25. It has a session. A call's questions arrive on the call's
 * stream, or on the stream of the session: some servers send them there. A broken stream is resumed
 * with `Last-Event-ID`.
 */
import {
  ensure,
  type Operation,
  race,
  scoped,
  sleep,
  spawn,
  type Task,
  withResolvers,
} from "effection";
import type { JsonObject } from "../model/content.ts";
import type { ClientAnswer, ClientCapabilities, ToolResult } from "../model/events.ts";
import type { RpcId, RpcMessage, RpcRequest } from "../wire/json-rpc.ts";
import { LEGACY_VERSIONS } from "../wire/versions.ts";
import { ClientError } from "./client-error.ts";
import {
  type Endpoint,
  type HeaderLines,
  type Incoming,
  Refusal,
  type Reply,
  send,
} from "./http.ts";
import type { Person } from "./person.ts";
import { impossible, progressIn, questionIn } from "./questions.ts";
import {
  CAPABILITIES,
  type ClientIdentity,
  listTools,
  type RemoteServer,
  type RemoteTool,
} from "./server.ts";

const USUAL_RETRY = 1_000;
const MAX_RETRIES = 5;
/**
 * How long to wait for the session's stream before a call begins without it, in milliseconds. Some
 * servers do not answer before they have something to send. A slow connection gets more time.
 */
const MIN_OPENING = 1_000;
const MAX_OPENING = 10_000;

/** The questions of a server that are being answered. */
type Questions = Map<RpcId, Task<void>>;

export class LegacyServer implements RemoteServer {
  version: string = LEGACY_VERSIONS[0];
  #endpoint: Endpoint;
  readonly #capabilities: ClientCapabilities;
  #session: HeaderLines = {};
  #lastId = 0;
  /** The time that the first request took, in milliseconds. */
  #roundTrip = 0;

  constructor(endpoint: Endpoint, capabilities = CAPABILITIES) {
    this.#endpoint = endpoint;
    this.#capabilities = capabilities;
  }

  *initialize(clientInfo: ClientIdentity): Operation<void> {
    const capabilities = this.#capabilities;
    const params = { protocolVersion: this.version, capabilities, clientInfo } as JsonObject;
    const start = performance.now();
    const { protocolVersion } = yield* this.#request("initialize", params);
    this.#roundTrip = performance.now() - start;
    if (typeof protocolVersion === "string") this.version = protocolVersion;
    this.#session = { ...this.#session, "mcp-protocol-version": this.version };
    yield* this.#post({ method: "notifications/initialized" });
  }

  tools(): Operation<RemoteTool[]> {
    return listTools((params) => this.#request("tools/list", params));
  }

  *call({ name }: RemoteTool, args: JsonObject, person: Person): Operation<ToolResult> {
    const params = { name, arguments: args };
    return (yield* this.request("tools/call", params, person)) as unknown as ToolResult;
  }

  *request(method: string, params: JsonObject, person?: Person): Operation<JsonObject> {
    if (!person) return yield* this.#request(method, params);
    const server = this;
    return yield* scoped(function* () {
      yield* server.#listen(person);
      const _meta = { progressToken: server.#lastId + 1 };
      return yield* server.#request(method, { ...params, _meta }, person);
    });
  }

  /**
   * Opens the stream of the session for as long as the scope lives. Returns once the stream is open:
   * a server may drop what it sends before that.
   */
  *#listen(person: Person): Operation<void> {
    if (!("mcp-session-id" in this.#session)) return;
    const { operation, resolve } = withResolvers<void>();
    yield* spawn(() => this.#readSession(person, resolve));
    const patience = Math.min(Math.max(10 * this.#roundTrip, MIN_OPENING), MAX_OPENING);
    yield* race([operation, sleep(patience)]);
  }

  /**
   * Reads the stream of the session. A server without such a stream refuses the request, which does
   * not affect the call.
   */
  *#readSession(person: Person, opened: () => void): Operation<void> {
    const questions: Questions = new Map();
    let position: HeaderLines = {};
    let retry = USUAL_RETRY;
    try {
      for (let failures = 0; failures <= MAX_RETRIES; failures++) {
        const reply = yield* send(this.#endpoint, "GET", { ...this.#session, ...position });
        const isStream = reply.headers.get("content-type")?.startsWith("text/event-stream");
        if (reply.status !== 200 || !isStream) return;
        opened();
        for (let next = yield* nextOf(reply); next; next = yield* nextOf(reply)) {
          const { message, event } = next;
          if (event?.id !== undefined) position = { "last-event-id": event.id };
          retry = event?.retry ?? retry;
          if (!message) continue;
          failures = 0;
          yield* this.#receive(message, questions, person);
        }
        yield* sleep(retry);
      }
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
    } finally {
      opened();
    }
  }

  *close(): Operation<void> {
    if (!("mcp-session-id" in this.#session)) return;
    const [endpoint, session] = [this.#endpoint, this.#session];
    yield* scoped(function* () {
      yield* send(endpoint, "DELETE", session);
    });
  }

  *#request(method: string, params: JsonObject, person?: Person): Operation<JsonObject> {
    const id = ++this.#lastId;
    const server = this;
    return yield* scoped(function* () {
      let answered = false;
      yield* ensure(function* () {
        if (answered || method === "initialize") return;
        yield* server.#post({ method: "notifications/cancelled", params: { requestId: id } });
      });
      try {
        const message = { jsonrpc: "2.0", id, method, params };
        const reply = yield* send(server.#endpoint, "POST", server.#session, message);
        if (method === "initialize") server.#begin(reply);
        const result = yield* server.#resultIn(reply, id, person);
        answered = true;
        return result;
      } catch (error) {
        // A refused request has been answered: do not cancel it.
        answered = true;
        throw error;
      }
    });
  }

  /** Remembers the session and, after a redirect, the URL of the server that created it. */
  #begin({ headers, redirectedTo }: Reply): void {
    const session = headers.get("mcp-session-id");
    if (session) this.#session = { "mcp-session-id": session };
    if (redirectedTo !== undefined) {
      this.#endpoint = { url: redirectedTo, headers: {}, trace: this.#endpoint.trace };
    }
  }

  /** Sends a message that expects no response: a notification or an answer. */
  *#post(message: JsonObject): Operation<void> {
    const [endpoint, session] = [this.#endpoint, this.#session];
    yield* scoped(function* () {
      yield* send(endpoint, "POST", session, { jsonrpc: "2.0", ...message });
    });
  }

  *#resultIn(first: Reply, id: number, person: Person | undefined): Operation<JsonObject> {
    const questions: Questions = new Map();
    let reply = first;
    let position: string | undefined;
    let retry = USUAL_RETRY;
    let failures = 0;
    for (;;) {
      const incoming = yield* nextOf(reply);
      if (!incoming) {
        if (position === undefined || ++failures > MAX_RETRIES) {
          throw new Refusal(reply);
        }
        yield* sleep(retry);
        const headers = { ...this.#session, "last-event-id": position };
        reply = yield* send(this.#endpoint, "GET", headers);
        if (reply.status !== 200) throw new Refusal(reply);
        continue;
      }
      const { message, event } = incoming;
      if (event?.id !== undefined) position = event.id;
      retry = event?.retry ?? retry;
      if (message) failures = 0;
      if (message?.type === "answer") {
        if ("error" in message) throw new Refusal(reply, message.error);
        if (message.id === id) return message.result;
      } else if (message) yield* this.#receive(message, questions, person);
    }
  }

  /** Handles a request or a notification. Questions are answered in the surrounding scope. */
  *#receive(
    message: RpcMessage,
    questions: Questions,
    person: Person | undefined,
  ): Operation<void> {
    if (message.type === "request") {
      questions.set(message.id, yield* spawn(() => this.#answer(message, person)));
    } else if (message.type === "notification") {
      const { method, params } = message;
      if (method === "notifications/progress") person?.progress(progressIn(params));
      if (method === "notifications/message") person?.log(params.level as "info", params.data);
      if (method === "notifications/cancelled") {
        yield* questions.get(params.requestId as RpcId)?.halt() ?? nothing();
      }
    }
  }

  *#answer({ id, method, params }: RpcRequest, person: Person | undefined): Operation<void> {
    const question = questionIn(method, params);
    let response: ClientAnswer | JsonObject;
    if (method === "ping") response = {};
    else if (question && person) response = yield* person.answer(question);
    else {response = impossible(
        `Cannot answer "${method}": this client does not support it; continue without an answer`,
      );}
    yield* this.#post("error" in response ? { id, ...response } : { id, result: response });
  }
}

/** Reads the next message. A broken connection counts as the end of the response. */
function* nextOf(reply: Reply): Operation<Incoming | undefined> {
  try {
    return yield* reply.next();
  } catch (error) {
    if (error instanceof ClientError) throw error;
    return undefined;
  }
}

function* nothing(): Operation<void> {}
