/** The legacy era over Streamable HTTP: POST, GET and DELETE on one address. */
import { INVALID_REQUEST, readMessage, type RpcMessage } from "../../protocol/json-rpc.ts";
import { frame, KEEP_ALIVE, primingFrame } from "../../protocol/sse.ts";
import { isLegacyVersion, since } from "../../protocol/versions.ts";
import type { ServerCore } from "../core.ts";
import { EventStream } from "../event-stream.ts";
import { accepts } from "../guard.ts";
import { accepted, busy, EVENT_STREAM_HEADERS, json, refuse } from "../responses.ts";
import type { Call } from "./call.ts";
import { CallStream, parsePosition } from "./call-stream.ts";
import type { ClientSession } from "./client-session.ts";
import { ClientSessions } from "./client-sessions.ts";
import { receive, type Received } from "./receive.ts";
import { STANDING, type StandingStream } from "./standing-stream.ts";

const SESSION_HEADER = "mcp-session-id";

export class LegacyHttp {
  readonly #core: ServerCore;
  readonly sessions: ClientSessions;

  constructor(core: ServerCore) {
    this.#core = core;
    this.sessions = new ClientSessions(core);
  }

  async post(request: Request, body: unknown, principal: string): Promise<Response> {
    if (Array.isArray(body)) return await this.#batch(request, body, principal);
    const message = readMessage(body);
    if (message.type === "request" && message.method === "initialize") {
      return this.#initialize(message, principal);
    }
    const client = this.#client(request, principal);
    if (client instanceof Response) return client;
    return await this.#respond(client, receive(client, message));
  }

  get(request: Request, principal: string): Response {
    if (!accepts(request.headers.get("accept"), "text/event-stream")) {
      return refuse(406, "Cannot open a stream: the Accept header must list text/event-stream");
    }
    const client = this.#client(request, principal);
    if (client instanceof Response) return client;
    client.lastSeen = this.#core.deadlines.now();
    const lastEventId = request.headers.get("last-event-id");
    if (lastEventId === null) return this.#open(client, client.standing, []);
    const position = parsePosition(lastEventId);
    if (!position) {
      return refuse(400, `Cannot resume after "${lastEventId}": it is no event id of this server`);
    }
    const { stream, cursors } = position;
    const feed = stream === STANDING ? client.standing : client.streams.get(stream);
    // 405 is what stops every client in use from asking again and again.
    if (!feed || !feed.seek(cursors) || feed.done) {
      return refuse(405, `Cannot resume after "${lastEventId}": nothing follows it`);
    }
    return this.#open(client, feed, feed instanceof CallStream ? feed.calls : []);
  }

  delete(request: Request, principal: string): Response {
    const client = this.#client(request, principal);
    if (client instanceof Response) return client;
    this.sessions.end(client, "the client ended its session");
    return new Response(null, { status: 204 });
  }

  #initialize(message: RpcMessage, principal: string): Response {
    const client = this.sessions.create(principal);
    if (!client) {
      return busy(503, "Cannot start a session: the server has as many as it can; try again later");
    }
    const received = receive(client, message);
    if (received.type !== "reply") throw new TypeError("initialize is always answered at once");
    // A session that could not be initialized has told nothing about itself.
    if (!client.info.protocolVersion) {
      this.sessions.end(client, "it was not initialized");
      return json(received.text);
    }
    return json(received.text, {
      "content-type": "application/json",
      [SESSION_HEADER]: client.id,
    });
  }

  /** The session that the request belongs to, or why it belongs to none. */
  #client(request: Request, principal: string): ClientSession | Response {
    const version = request.headers.get("mcp-protocol-version");
    if (version !== null && !isLegacyVersion(version)) {
      return refuse(400, `Cannot serve protocol version "${version}": it is unknown here`);
    }
    const id = request.headers.get(SESSION_HEADER);
    if (id === null) {
      return refuse(400, "Cannot serve the request: it names no session; send initialize first");
    }
    return this.sessions.find(id, principal) ??
      refuse(404, {
        code: -32001,
        message: "Cannot find the session: it has ended or expired; send initialize again",
      });
  }

  async #respond(client: ClientSession, received: Received): Promise<Response> {
    switch (received.type) {
      case "accepted":
        return accepted();
      case "refused":
        return refuse(400, received.problem);
      case "busy":
        return busy(received.lasting ? 503 : 429, received.problem, received.id);
      case "reply":
        return json(received.text);
      case "later":
        return json(await received.text);
      case "call":
        return await this.#respondToCalls(client, [received.call]);
    }
  }

  /** An answer that is there soon, and stands alone, goes out as it is; everything else is a stream. */
  async #respondToCalls(
    client: ClientSession,
    calls: readonly Call[],
    replies: readonly string[] = [],
    batch = false,
  ): Promise<Response> {
    for (const call of calls) if (!call.session.outcome) await this.#soon(call);
    const answers = calls.map((call) => onlyMessage(call));
    if (answers.every((answer) => answer !== undefined)) {
      for (const call of calls) this.#core.registry.forget(call.session);
      const all = [...replies, ...answers as string[]];
      return json(batch ? `[${all.join(",")}]` : all[0]!);
    }
    const { heartbeat, maxStreams } = this.#core.limits;
    if (this.#core.streams >= maxStreams) {
      for (const { session } of calls) session.halt("too many streams are open");
      return busy(503, `Cannot start the call: ${maxStreams} streams are open; try again later`);
    }
    const stream = new CallStream(client.nextStream(), calls, heartbeat);
    client.streams.set(stream.number, stream);
    for (const call of calls) {
      client.callsBySession.set(call.session.id, call);
      call.forgotten = () => client.streams.delete(stream.number);
      call.disconnect = () => {
        if (since(client.version, "2025-11-25")) stream.connection?.end();
      };
    }
    return this.#open(client, stream, calls, replies.map((text) => frame(text)).join(""));
  }

  /** Waits for the call's first event, but not for long. */
  #soon({ session }: Call): Promise<void> | undefined {
    if (session.log.lastLSN > 0) return undefined;
    return new Promise((resolve) => {
      const settle = () => {
        deadline.cancel();
        unwatch();
        resolve();
      };
      const deadline = this.#core.deadlines.add(this.#core.limits.decideTime, settle);
      const unwatch = session.log.watch(settle);
    });
  }

  /** Connects a feed. A connection that it had before is ended: each message goes out once. */
  #open(
    client: ClientSession,
    feed: CallStream | StandingStream,
    calls: readonly Call[],
    first = "",
  ): Response {
    const core = this.#core;
    if (core.closing || core.streams >= core.limits.maxStreams) {
      return busy(503, "Cannot open a stream: the server has as many as it can; try again later");
    }
    feed.connection?.close();
    core.streams++;
    for (const { session } of calls) core.registry.hold(session);
    const priming = since(client.version, "2025-11-25")
      ? primingFrame(feed.position, core.limits.retry)
      : KEEP_ALIVE;
    const stream: EventStream = new EventStream(
      feed,
      priming + first,
      core.deadlines,
      core.limits,
      () => {
        core.streams--;
        for (const { session } of calls) core.registry.letGo(session);
        if (feed.connection === stream) feed.connection = undefined;
        client.lastSeen = core.deadlines.now();
      },
    );
    feed.connection = stream;
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  }

  /** Several messages at once: one revision had them. */
  async #batch(request: Request, body: unknown[], principal: string): Promise<Response> {
    const client = this.#client(request, principal);
    if (client instanceof Response) return client;
    if (client.version !== "2025-03-26") {
      return refuse(400, `Cannot take a batch: protocol version ${client.version} has none`);
    }
    if (body.length === 0) return refuse(400, "Cannot take a batch: it is empty");
    const replies: Promise<string>[] = [];
    const calls: Call[] = [];
    for (const item of body) {
      const message = readMessage(item);
      const received = message.type === "request" && message.method === "initialize"
        ? { type: "refused", problem: "Cannot initialize in a batch" } as const
        : receive(client, message);
      if (received.type === "call") calls.push(received.call);
      else if (received.type === "reply") replies.push(Promise.resolve(received.text));
      else if (received.type === "later") replies.push(received.text);
      else if (received.type !== "accepted") {
        const id = "id" in received ? received.id : undefined;
        replies.push(refuse(400, { code: INVALID_REQUEST, message: received.problem }, id).text());
      }
    }
    if (replies.length === 0 && calls.length === 0) return accepted();
    return await this.#respondToCalls(client, calls, await Promise.all(replies), true);
  }
}

/** The call's answer, if it has ended and has nothing else to say. */
function onlyMessage(call: Call): string | undefined {
  const { session } = call;
  if (!session.outcome) return undefined;
  let only: string | undefined;
  let count = 0;
  call.messagesAfter(0, (message) => {
    only = message;
    count++;
  });
  return count === 1 ? only : undefined;
}
