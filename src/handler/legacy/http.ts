/** The legacy era over Streamable HTTP: POST, GET and DELETE on one address. */
import {
  errorText,
  INVALID_REQUEST,
  readMessage,
  type RpcMessage,
} from "../../protocol/json-rpc.ts";
import { frame, KEEP_ALIVE, primingFrame } from "../../protocol/sse.ts";
import { isLegacyVersion, since } from "../../protocol/versions.ts";
import type { ServerCore } from "../core.ts";
import { EventStream } from "../event-stream.ts";
import { accepts } from "../guard.ts";
import { isRun } from "../runs.ts";
import { accepted, busy, EVENT_STREAM_HEADERS, json, refuse } from "../responses.ts";
import type { Call } from "./call.ts";
import { CallStream, parsePosition } from "./call-stream.ts";
import type { ClientSession } from "./client-session.ts";
import { ClientSessions } from "./client-sessions.ts";
import { receive, type Received } from "./receive.ts";
import { STANDING, type StandingStream } from "./standing-stream.ts";

const SESSION_HEADER = "mcp-session-id";
const NO_ROOM = "Cannot open a stream: the server has as many as it can; try again later";

export class LegacyHttp {
  readonly #core: ServerCore;
  readonly sessions: ClientSessions;

  constructor(core: ServerCore) {
    this.#core = core;
    this.sessions = new ClientSessions(core);
  }

  /** Waits only where there is something to wait for: most calls are answered at once. */
  post(request: Request, body: unknown, principal: string): Response | Promise<Response> {
    if (Array.isArray(body)) return this.#batch(request, body, principal);
    const message = readMessage(body);
    if (message.type === "request" && message.method === "initialize") {
      return this.#initialize(message, principal);
    }
    const client = this.#client(request, principal);
    if (client instanceof Response) return client;
    // Before it runs: a call that is refused must not have done anything.
    if (message.type === "request" && isRun(message.method) && !this.#core.hasRoom) {
      return busy(503, NO_ROOM, message.id);
    }
    return this.#respond(client, receive(client, message));
  }

  async get(request: Request, principal: string): Promise<Response> {
    if (!accepts(request.headers.get("accept"), "text/event-stream")) {
      return refuse(406, "Cannot open a stream: the Accept header must list text/event-stream");
    }
    const client = this.#client(request, principal);
    if (client instanceof Response) return client;
    client.lastSeen = this.#core.deadlines.now();
    const lastEventId = request.headers.get("last-event-id");
    if (lastEventId === null) return this.#open(client, client.standing) ?? busy(503, NO_ROOM);
    const position = parsePosition(lastEventId);
    if (!position) {
      return refuse(400, `Cannot resume after "${lastEventId}": it is no event id of this server`);
    }
    const { stream, cursors } = position;
    const feed = stream === STANDING ? client.standing : client.streams.get(stream);
    if (feed instanceof CallStream) await Promise.all(feed.calls.map((call) => call.takeUp()));
    // 405 is what stops every client in use from asking again and again.
    if (!feed?.canResumeAt(cursors)) {
      return refuse(405, `Cannot resume after "${lastEventId}": nothing follows it`, undefined, {
        allow: "POST, GET, DELETE",
      });
    }
    return this.#open(client, feed, { cursors }) ?? busy(503, NO_ROOM);
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
    if (!client.initialized) {
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
    return this.sessions.find(id, principal) ?? sessionGone();
  }

  #respond(client: ClientSession, received: Received): Response | Promise<Response> {
    switch (received.type) {
      case "accepted":
        return received.recorded ? acceptedOnce(received.recorded) : accepted();
      case "refused":
        return refuse(400, received.problem, received.id);
      case "busy":
        return busy(received.lasting ? 503 : 429, received.problem, received.id);
      case "reply":
        return json(received.text);
      case "later":
        return received.text.then((text) => json(text));
      case "call":
        return this.#respondToCall(client, received.call);
    }
  }

  #respondToCall(client: ClientSession, call: Call): Response | Promise<Response> {
    const answer = call.onlyMessage;
    // By far the most calls end at once, and have nothing else to say.
    if (typeof answer !== "string") return this.#respondToCalls(client, [call]);
    this.#core.registry.forget(call.session);
    return json(answer);
  }

  /** An answer that is there soon, and stands alone, goes out as it is; everything else is a stream. */
  async #respondToCalls(
    client: ClientSession,
    calls: readonly Call[],
    replies: readonly string[] = [],
    batch = false,
  ): Promise<Response> {
    const undecided = calls.filter((call) => isUndecided(call));
    if (undecided.length > 0) await Promise.all(undecided.map((call) => this.#soon(call)));
    if (client.ended) return sessionGone();
    const answers = calls.map((call) => call.onlyMessage);
    if (answers.every((answer) => answer !== undefined)) {
      for (const { session } of calls) this.#core.registry.forget(session);
      const texts = [...replies, ...answers.filter((answer) => answer !== null)];
      // Nobody waits for the answer to a call that its caller has cancelled.
      if (texts.length === 0) return new Response(KEEP_ALIVE, { headers: EVENT_STREAM_HEADERS });
      return json(batch ? `[${texts.join(",")}]` : texts[0]!);
    }
    const stream = new CallStream(client.nextStream(), calls, this.#core.limits.heartbeat);
    const first = replies.map((text) => frame(text)).join("");
    const response = this.#open(client, stream, { first });
    if (!response) {
      for (const { session } of calls) session.halt("too many streams are open");
      return busy(503, NO_ROOM, batch ? undefined : calls[0]!.id);
    }
    this.#keep(client, stream);
    return response;
  }

  /** From here on the stream can be left and found again. */
  #keep(client: ClientSession, stream: CallStream): void {
    for (const call of stream.calls) {
      this.#core.registry.keep(call.session);
      if (!call.isGone) client.callsBySession.set(call.session.id, call);
    }
    let left = stream.calls.filter((call) => !call.isGone).length;
    if (left > 0) client.streams.set(stream.number, stream);
    // Before 2025-11-25 a client that lost its stream was not bound to come back.
    const hangUp = since(client.version, "2025-11-25") ? () => stream.connection?.end() : undefined;
    for (const call of stream.calls) {
      call.forgotten = () => {
        if (--left === 0) client.streams.delete(stream.number);
      };
      call.disconnect = hangUp;
      if (call.hungUp) hangUp?.();
    }
  }

  /** Waits for the call's first event, but not for long. */
  #soon({ session }: Call): Promise<void> {
    const { registry, deadlines, limits: { decideTime } } = this.#core;
    registry.hold(session);
    return new Promise((resolve) => {
      const settle = () => {
        deadline.cancel();
        unwatch();
        registry.letGo(session);
        resolve();
      };
      const deadline = deadlines.add(decideTime, settle);
      const unwatch = session.log.watch(settle);
    });
  }

  /**
   * Connects a feed, unless there is no room. A connection that it had before is
   * ended: each message goes out once.
   */
  #open(
    client: ClientSession,
    feed: CallStream | StandingStream,
    { cursors, first = "" }: { cursors?: readonly number[]; first?: string } = {},
  ): Response | undefined {
    const core = this.#core;
    if (!core.hasRoom) return undefined;
    feed.connection?.close();
    if (cursors) feed.seek(cursors);
    const calls = feed instanceof CallStream ? feed.calls : [];
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
    const replies: (string | Promise<string>)[] = [];
    const calls: Call[] = [];
    let problem: string | undefined;
    for (const item of body) {
      const received = receiveInBatch(client, readMessage(item));
      if (received.type === "call") calls.push(received.call);
      else if (received.type === "reply" || received.type === "later") replies.push(received.text);
      else if (received.type !== "accepted") {
        // What nobody waits for can only be refused as a whole.
        if (received.id === undefined) problem ??= received.problem;
        else {
          const error = { code: INVALID_REQUEST, message: received.problem };
          replies.push(errorText(received.id, error));
        }
      }
    }
    if (replies.length === 0 && calls.length === 0) {
      return problem === undefined ? accepted() : refuse(400, problem);
    }
    return await this.#respondToCalls(client, calls, await Promise.all(replies), true);
  }
}

function receiveInBatch(client: ClientSession, message: RpcMessage): Received {
  if (message.type === "request" && message.method === "initialize") {
    return { type: "refused", id: message.id, problem: "Cannot initialize in a batch" };
  }
  return receive(client, message);
}

async function acceptedOnce(recorded: Promise<boolean>): Promise<Response> {
  return await recorded
    ? accepted()
    : busy(503, "Cannot take the answer: it could not be stored; send it again");
}

function isUndecided({ session }: Call): boolean {
  return !session.outcome && session.log.lastLSN === 0;
}

function sessionGone(): Response {
  return refuse(404, {
    code: -32001,
    message: "Cannot find the session: it has ended or expired; send initialize again",
  });
}
