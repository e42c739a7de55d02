/**
 * HTTP+SSE, the transport of revision 2024-11-05. The server sends all messages on one SSE stream,
 * and the client sends POST requests. The stream cannot be resumed, so a client that loses its
 * stream loses its session. This class is a thin adapter over the legacy client session.
 */
import type { Principal } from "../../model/principal.ts";
import { readMessage } from "../../wire/json-rpc.ts";
import type { ServerCore } from "../../server/core.ts";
import { EventStream } from "./event-stream.ts";
import {
  accepted,
  acceptedOnce,
  busy,
  EVENT_STREAM,
  refuse,
  respondWithRefusal,
} from "./respond.ts";
import type { ClientSession } from "../../server/legacy/client-session.ts";
import { ClientSessions } from "../../server/legacy/client-sessions.ts";
import { Outbox } from "../outbox.ts";
import { receiveShared } from "../../server/legacy/channel.ts";
import type { ChannelReply } from "../../server/reply.ts";
import type { RequestHeaders } from "../../wire/request-headers.ts";

const STREAM = "/sse";
const MESSAGES = "/messages";

export class LegacySse {
  readonly #core: ServerCore;
  readonly sessions: ClientSessions;
  readonly #outboxes = new WeakMap<ClientSession, Outbox>();

  constructor(core: ServerCore) {
    this.#core = core;
    this.sessions = new ClientSessions(core);
  }

  handles(path: string): boolean {
    return path === STREAM || path === MESSAGES;
  }

  get(path: string, principal: string, who: Principal | undefined): Response {
    if (path !== STREAM) {
      return refuse(
        405,
        "Cannot serve GET here: this address only receives messages; send them with POST",
        undefined,
        { allow: "POST" },
      );
    }
    const core = this.#core;
    const client = core.refusesStream(principal) ?? this.sessions.create(principal);
    if (typeof client === "string") return busy(client);
    client.who = who;
    const outbox = new Outbox(core.deadlines);
    this.#outboxes.set(client, outbox);
    core.streams.take(principal);
    const stopNotifications = client.notifications.watch(() =>
      this.#sendNotifications(client, outbox)
    );
    const first = `event: endpoint\ndata: ${MESSAGES}?sessionId=${client.id}\n\n`;
    let stopWatching: (() => void) | undefined;
    // The client cannot resume the stream, so a newer token in its messages keeps the stream open.
    const watch = (who: Principal | undefined) => {
      stopWatching?.();
      stopWatching = who && core.access.whenEnded(who, core.deadlines, () => {
        if (client.who !== who) watch(client.who);
        else outbox.connection?.end();
      });
    };
    outbox.connection = new EventStream(outbox, first, core.deadlines, core.limits, () => {
      stopWatching?.();
      core.streams.give(principal);
      stopNotifications();
      outbox.close();
      this.sessions.end(client, "the client closed its stream");
    });
    client.notifications.connection = outbox.connection;
    watch(who);
    return new Response(outbox.connection.body, EVENT_STREAM);
  }

  post(
    request: Request,
    headers: RequestHeaders,
    body: unknown,
    principal: string,
    who: Principal | undefined,
  ): Response | Promise<Response> {
    const id = new URL(request.url).searchParams.get("sessionId");
    const client = id ? this.sessions.find(id, principal) : undefined;
    const outbox = client && this.#outboxes.get(client);
    if (!client || !outbox) {
      return refuse(404, "Cannot find the session: it has ended; open the stream again");
    }
    const message = readMessage(body);
    // Answers and notifications are still accepted: they create no output of their own.
    if (outbox.crowded && message.type === "request") {
      return busy(
        "Cannot accept the request: too much of the stream is unread; read the stream, then send the request again",
      );
    }
    return this.#respond(outbox, receiveShared(client, message, { who, headers }));
  }

  /** Sends replies on the client's stream. Only refusals are sent as the response to the POST. */
  #respond(outbox: Outbox, reply: ChannelReply): Response | Promise<Response> {
    switch (reply.type) {
      case "accepted":
        return reply.recorded ? acceptedOnce(reply.recorded) : accepted();
      case "refused":
        return respondWithRefusal(reply);
      case "later": {
        const response = reply.ready.then(() => this.#respond(outbox, reply.reply()));
        return reply.taken ? accepted() : response;
      }
      case "value":
        outbox.post(reply.text);
        break;
      case "stream":
        outbox.add(reply.stream);
        break;
    }
    return accepted();
  }

  #sendNotifications(client: ClientSession, outbox: Outbox): void {
    client.notifications.read((message) => outbox.post(message));
  }
}
