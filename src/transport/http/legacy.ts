/** The legacy era over Streamable HTTP: POST, GET and DELETE on one address. */
import { INVALID_REQUEST } from "../../model/rpc-codes.ts";
import type { ServerCore } from "../../server/core.ts";
import { accepts } from "../../server/guard.ts";
import { BatchReplies, jsonArray, tooLongABatch } from "../../server/legacy/batch.ts";
import type { Call } from "../../server/legacy/call.ts";
import type { ClientSession } from "../../server/legacy/client-session.ts";
import { ClientSessions, type Found } from "../../server/legacy/client-sessions.ts";
import { type NotificationStream, STANDING } from "../../server/legacy/notification-stream.ts";
import { receive, type Received } from "../../server/legacy/receive.ts";
import { ASSUMED_VERSION, SessionlessClient } from "../../server/legacy/sessionless.ts";
import { CallStream, parsePosition } from "../../server/legacy/stream.ts";
import { isRun } from "../../server/run-target.ts";
import { errorText, readMessage, type RpcMessage } from "../../wire/json-rpc.ts";
import { frame, KEEP_ALIVE, primingFrame } from "../../wire/sse.ts";
import { isLegacyVersion, since } from "../../wire/versions.ts";
import { EventStream } from "./event-stream.ts";
import {
  accepted,
  acceptedOnce,
  ANSWER_NOT_STORED,
  busy,
  busyWithoutRoom,
  EVENT_STREAM_HEADERS,
  json,
  JSON_RESPONSE,
  refuse,
  sessionGone,
} from "./responses.ts";

const SESSION_HEADER = "mcp-session-id";
const CHANGE_NOT_STORED = "Cannot keep what was asked for: it could not be stored; try again later";

export class LegacyHttp {
  readonly #core: ServerCore;
  readonly sessions: ClientSessions;

  constructor(core: ServerCore) {
    this.#core = core;
    this.sessions = new ClientSessions(core, core.clients);
  }

  /** Waits only where there is something to wait for: most calls are answered at once. */
  post(request: Request, body: unknown, principal: string): Response | Promise<Response> {
    if (Array.isArray(body)) return this.#batch(request, body, principal);
    const message = readMessage(body);
    if (message.type === "request" && message.method === "initialize") {
      return this.#initialize(message, principal);
    }
    const client = this.#client(request, principal);
    if (client instanceof Promise) return client.then((found) => this.#take(found, message));
    return this.#take(client, message);
  }

  #take(client: ClientSession | Response, message: RpcMessage): Response | Promise<Response> {
    if (client instanceof Response) return client;
    // Before it runs: a call that is refused must not have done anything.
    if (message.type === "request" && isRun(message.method)) {
      const refusal = this.#core.refusesStream(client.principal);
      if (refusal !== undefined) return busy(503, refusal, message.id);
    }
    return this.#respond(client, receive(client, message));
  }

  async get(request: Request, principal: string): Promise<Response> {
    if (!accepts(request.headers.get("accept"), "text/event-stream")) {
      return refuse(
        406,
        "Cannot open a stream: the Accept header takes none; list text/event-stream",
      );
    }
    const client = await this.#client(request, principal);
    if (client instanceof Response) return client;
    client.lastSeen = this.#core.deadlines.now();
    const lastEventId = request.headers.get("last-event-id");
    if (lastEventId === null) return this.#openOrRefuse(client, client.standing);
    const position = parsePosition(lastEventId);
    if (!position) {
      return refuse(
        400,
        `Cannot resume after "${lastEventId}": it is no event id of this server; leave the header out`,
      );
    }
    const { stream, cursors } = position;
    const feed = stream === STANDING ? client.standing : client.streams.get(stream);
    if (feed instanceof CallStream) {
      const takenUp = Promise.all(feed.calls.map((call) => call.takeUp()));
      const busy = await takenUp.catch(busyWithoutRoom);
      if (busy instanceof Response) return busy;
    }
    // 405 is what stops every client in use from asking again and again.
    if (!feed?.canResumeAt(cursors)) {
      return refuse(
        405,
        `Cannot resume after "${lastEventId}": nothing follows it; all of it has been sent`,
        undefined,
        {
          allow: "POST, GET, DELETE",
        },
      );
    }
    return this.#openOrRefuse(client, feed, { cursors });
  }

  async delete(request: Request, principal: string): Promise<Response> {
    const client = await this.#client(request, principal);
    if (client instanceof Response) return client;
    await this.sessions.end(client, "the client ended its session");
    return new Response(null, { status: 204 });
  }

  async #initialize(message: RpcMessage, principal: string): Promise<Response> {
    const client = this.sessions.create(principal);
    if (typeof client === "string") return busy(503, client);
    const received = receive(client, message);
    if (received.type === "busy") {
      await this.sessions.end(client, "there was no room for it");
      return busy(503, received.problem, received.id);
    }
    if (received.type !== "reply") throw new TypeError("initialize is always answered at once");
    // A session that could not be initialized has told nothing about itself.
    if (!client.initialized) {
      await this.sessions.end(client, "it was not initialized");
      return json(received.text);
    }
    if (this.sessions.kept && !await this.#saved(client)) {
      await this.sessions.end(client, "it could not be stored").catch(() => {});
      return busy(503, "Cannot start a session: it could not be stored; try again later");
    }
    return json(received.text, {
      "content-type": "application/json",
      [SESSION_HEADER]: client.id,
    });
  }

  /** The session that the request belongs to, or why it belongs to none. */
  #client(
    request: Request,
    principal: string,
  ): ClientSession | Response | Promise<ClientSession | Response> {
    const version = request.headers.get("mcp-protocol-version");
    if (version !== null && !isLegacyVersion(version)) {
      return refuse(
        400,
        `Cannot serve protocol version "${version}": it is unknown here; send the one that initialize agreed on`,
      );
    }
    const id = request.headers.get(SESSION_HEADER);
    if (id === null) {
      return new SessionlessClient(principal, this.#core, version ?? ASSUMED_VERSION);
    }
    const found = this.sessions.lookup(id, principal);
    return found instanceof Promise ? found.then(foundOrWhyNot) : foundOrWhyNot(found);
  }

  /** Whether what has changed about a client is on record. */
  async #saved(client: ClientSession): Promise<boolean> {
    try {
      await this.sessions.save(client);
      return true;
    } catch (error) {
      const what = "a client session could not be stored";
      this.#core.registry.report({ what, toolName: "-", sessionId: "-", error });
      return false;
    }
  }

  /** What has changed about a client is on record before it is acknowledged. */
  async #respondOnceSaved(client: ClientSession, received: Received): Promise<Response> {
    if (await this.#saved(client)) return await this.#respond(client, received);
    if (received.type === "call") received.call.cancel("the server could not keep it");
    return busy(503, CHANGE_NOT_STORED);
  }

  #respond(client: ClientSession, received: Received): Response | Promise<Response> {
    if (client.changed && this.sessions.kept) return this.#respondOnceSaved(client, received);
    switch (received.type) {
      case "soon":
        return received.received.then((then) => this.#respond(client, then));
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
  #respondToCalls(
    client: ClientSession,
    calls: readonly Call[],
    replies: readonly string[] = [],
    batch = false,
  ): Response | Promise<Response> {
    const undecided = calls.filter((call) => isUndecided(call));
    if (undecided.length === 0) return this.#respondToDecided(client, calls, replies, batch);
    return Promise.all(undecided.map((call) => this.#soon(call)))
      .then(() => this.#respondToDecided(client, calls, replies, batch));
  }

  #respondToDecided(
    client: ClientSession,
    calls: readonly Call[],
    replies: readonly string[],
    batch: boolean,
  ): Response | Promise<Response> {
    if (client.ended) return sessionGone();
    const texts = this.#onlyMessages(calls, replies);
    if (texts) {
      for (const { session } of calls) this.#core.registry.forget(session);
      // Nobody waits for the answer to a call that its caller has cancelled.
      if (texts.length === 0) return new Response(KEEP_ALIVE, { headers: EVENT_STREAM_HEADERS });
      return batch ? new Response(jsonArray(texts), JSON_RESPONSE) : json(texts[0]!);
    }
    const { heartbeatInterval } = this.#core.limits;
    const stream = new CallStream(
      client.nextStream(),
      calls,
      heartbeatInterval,
      !client.sessionless,
    );
    if (!client.sessionless) client.keep(stream);
    const first = replies.map((text) => frame(text)).join("");
    const open = (): Response => {
      const response = this.#open(client, stream, { first });
      if (typeof response === "string") return this.#refuseCalls(calls, response, batch);
      for (const call of calls) if (call.hungUp) call.disconnect();
      return response;
    };
    const isKept = this.sessions.kept && !client.sessionless;
    return isKept ? this.#openOnceKept(client, calls, batch, open) : open();
  }

  /** Replies and the results of calls, unless one takes a stream, or all of them do as too long. */
  #onlyMessages(calls: readonly Call[], replies: readonly string[]): string[] | undefined {
    const texts = [...replies];
    let length = 0;
    for (const call of calls) {
      const answer = call.onlyMessage;
      if (answer === undefined) return undefined;
      if (answer === null) continue;
      length += answer.length;
      if (calls.length > 1 && length > this.#core.limits.maxBatchAnswer) return undefined;
      texts.push(answer);
    }
    return texts;
  }

  /** The stream is on record before it is opened, if its client is kept. */
  async #openOnceKept(
    client: ClientSession,
    calls: readonly Call[],
    batch: boolean,
    open: () => Response,
  ): Promise<Response> {
    const saved = this.#saved(client);
    // Only of those that can be taken up again is anything promised.
    if (calls.some((call) => call.durable) && !await saved) {
      const problem = "Cannot start the call: it could not be stored; try again later";
      return this.#refuseCalls(calls, problem, batch);
    }
    return client.ended ? sessionGone() : open();
  }

  #refuseCalls(calls: readonly Call[], problem: string, batch: boolean): Response {
    for (const call of calls) call.cancel("its stream could not be opened");
    return busy(503, problem, batch ? undefined : calls[0]!.id);
  }

  /** Waits for the call's first event, but not for long. */
  #soon({ session }: Call): Promise<void> {
    const { registry, deadlines, limits: { streamAfter } } = this.#core;
    registry.hold(session);
    return new Promise((resolve) => {
      const settle = () => {
        deadline.cancel();
        unwatch();
        registry.letGo(session);
        resolve();
      };
      const deadline = deadlines.add(streamAfter, settle);
      const unwatch = session.log.watch(settle);
    });
  }

  #openOrRefuse(
    client: ClientSession,
    feed: CallStream | NotificationStream,
    from?: { cursors: readonly number[] },
  ): Response {
    const response = this.#open(client, feed, from);
    return typeof response === "string" ? busy(503, response) : response;
  }

  /**
   * Connects a feed, or tells why there is no room. A connection that it had before is
   * ended: each message goes out once.
   */
  #open(
    client: ClientSession,
    feed: CallStream | NotificationStream,
    { cursors, first = "" }: { cursors?: readonly number[]; first?: string } = {},
  ): Response | string {
    const core = this.#core;
    const { principal } = client;
    const refusal = core.refusesStream(principal);
    if (refusal !== undefined) return refusal;
    feed.connection?.close();
    if (cursors) feed.seek(cursors);
    const calls = feed instanceof CallStream ? feed.calls : [];
    const sessions = calls.filter((call) => call.isHere).map((call) => call.session);
    core.streams.take(principal);
    for (const session of sessions) core.registry.hold(session);
    const { position } = feed;
    const priming = position !== undefined && since(client.version, "2025-11-25")
      ? primingFrame(position, core.limits.reconnectDelay)
      : KEEP_ALIVE;
    const stream: EventStream = new EventStream(
      feed,
      priming + first,
      core.deadlines,
      core.limits,
      () => {
        core.streams.give(principal);
        for (const session of sessions) core.registry.letGo(session);
        if (feed.connection === stream) feed.connection = undefined;
        client.lastSeen = core.deadlines.now();
        if (client instanceof SessionlessClient) client.leave(sessions);
      },
    );
    feed.connection = stream;
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  }

  /** Several messages at once: one revision had them. */
  async #batch(request: Request, body: unknown[], principal: string): Promise<Response> {
    const client = await this.#client(request, principal);
    if (client instanceof Response) return client;
    if (client.sessionless) {
      return refuse(
        400,
        "Cannot take a batch: it names no session; send initialize first, or each message by itself",
      );
    }
    if (client.version !== "2025-03-26") {
      return refuse(
        400,
        `Cannot take a batch: protocol version ${client.version} has none; send each message by itself`,
      );
    }
    if (body.length === 0) {
      return refuse(400, "Cannot take a batch: it is empty; send one message or more");
    }
    const { maxBatch, maxBatchAnswer } = this.#core.limits;
    if (body.length > maxBatch) return refuse(400, tooLongABatch(body.length, maxBatch));
    const replies = new BatchReplies(maxBatchAnswer);
    const calls: Call[] = [];
    const records: Promise<boolean>[] = [];
    let problem: string | undefined;
    for (const item of body) {
      const message = readMessage(item);
      const first = replies.receive(client, message);
      const received = first.type === "soon" ? await first.received : first;
      if (received.type === "call") calls.push(received.call);
      else if (received.type === "reply" || received.type === "later") {
        replies.add(message.type === "request" ? message.id : undefined, received.text);
      } else if (received.type === "accepted") {
        if (received.recorded) records.push(received.recorded);
      } else {
        // What nobody waits for can only be refused as a whole.
        if (received.id === undefined) problem ??= received.problem;
        else {
          const error = { code: INVALID_REQUEST, message: received.problem };
          replies.add(received.id, errorText(received.id, error));
        }
      }
    }
    const texts = await replies.settled();
    if (client.changed && this.sessions.kept && !await this.#saved(client)) {
      for (const call of calls) call.cancel("the server could not keep it");
      return busy(503, CHANGE_NOT_STORED);
    }
    if ((await Promise.all(records)).includes(false)) return busy(503, ANSWER_NOT_STORED);
    if (replies.size === 0 && calls.length === 0) {
      return problem === undefined ? accepted() : refuse(400, problem);
    }
    return await this.#respondToCalls(client, calls, texts, true);
  }
}

function isUndecided({ session }: Call): boolean {
  return !session.outcome && session.log.lastLSN === 0;
}

function foundOrWhyNot(found: Found): ClientSession | Response {
  if (found === undefined) return sessionGone();
  if (found !== "no room") return found;
  return busy(
    503,
    "Cannot take the session up: the server has no room for it now; try again later",
  );
}
