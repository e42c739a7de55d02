/** Turns calls and streams of the legacy era into replies. */
import { since } from "../../wire/versions.ts";
import {
  busy,
  type OpenStream,
  type Refused,
  type ReplyStream,
  type Value,
  value,
} from "../reply.ts";
import type { Call } from "./call.ts";
import type { ClientSession } from "./client-session.ts";
import type { ClientSessions } from "./client-sessions.ts";
import type { NotificationStream } from "./notification-stream.ts";
import { LEGACY_ERRORS, sessionGone } from "./refusals.ts";
import { SessionlessClient } from "./sessionless.ts";
import { CallStream } from "./stream.ts";

/** The reply to one call, or to a batch with calls in it. */
export class CallReply implements ReplyStream {
  readonly #sessions: ClientSessions;
  readonly #client: ClientSession;
  readonly #calls: readonly Call[];
  /** The responses to the other messages of a batch. Undefined if the call was not in a batch. */
  readonly #batch: readonly string[] | undefined;
  #stream: CallStream | undefined;

  constructor(
    sessions: ClientSessions,
    client: ClientSession,
    calls: readonly Call[],
    batch?: readonly string[],
  ) {
    this.#sessions = sessions;
    this.#client = client;
    this.#calls = calls;
    this.#batch = batch;
  }

  get principal(): string {
    return this.#client.principal;
  }

  get decided(): boolean {
    return this.#calls.every(isDecided);
  }

  /** Calls `wake` on new events. Holds the sessions in memory until the reply is decided. */
  watch(wake: () => void): () => void {
    const { registry } = this.#client.core;
    const waiting = this.#calls.filter((call) => !isDecided(call)).map(({ session }) => session);
    for (const session of waiting) registry.hold(session);
    const unwatch = waiting.map((session) => session.log.watch(wake));
    return () => {
      for (const stop of unwatch) stop();
      for (const session of waiting) registry.letGo(session);
    };
  }

  whole(): Value | Refused | undefined {
    if (!this.decided) return undefined;
    if (this.#client.ended) return sessionGone();
    const texts = this.#onlyMessages();
    if (!texts) return undefined;
    for (const { session } of this.#calls) this.#client.core.registry.forget(session);
    // There is no text if the caller has cancelled the call.
    if (this.#batch || texts.length === 0) return { type: "value", text: "", batch: texts };
    return value(texts[0]!);
  }

  /** All responses. Undefined if a call needs a stream, or if the responses are too long together. */
  #onlyMessages(): string[] | undefined {
    const { maxBatchAnswer } = this.#client.core.limits;
    const texts = [...this.#batch ?? []];
    let length = 0;
    for (const call of this.#calls) {
      const answer = call.onlyMessage;
      if (answer === undefined) return undefined;
      if (answer === null) continue;
      length += answer.length;
      if (this.#calls.length > 1 && length > maxBatchAnswer) return undefined;
      texts.push(answer);
    }
    return texts;
  }

  /** Creates the stream. Stores it before it opens, if it can be resumed after a restart. */
  prepare(): Promise<Refused | undefined> | undefined {
    const client = this.#client;
    const { heartbeatInterval } = client.core.limits;
    this.#stream = new CallStream(
      client.nextStream(),
      this.#calls,
      heartbeatInterval,
      !client.sessionless,
    );
    if (client.sessionless) return undefined;
    client.keep(this.#stream);
    return this.#sessions.kept ? this.#save() : undefined;
  }

  async #save(): Promise<Refused | undefined> {
    const saved = this.#sessions.saved(this.#client);
    // Only durable calls are guaranteed to survive a restart.
    if (this.#calls.some((call) => call.durable) && !await saved) {
      return this.refuse("Cannot start the call: it could not be stored; try again later");
    }
    return this.#client.ended ? sessionGone() : undefined;
  }

  refuse(problem: string): Refused {
    for (const call of this.#calls) call.cancel("its stream could not be opened");
    return busy(this.#batch ? undefined : this.#calls[0]!.id, problem, LEGACY_ERRORS);
  }

  open(): OpenStream {
    const stream = openStream(this.#client, this.#stream!, this.#batch);
    return {
      ...stream,
      connected: (connection) => {
        stream.connected(connection);
        for (const call of this.#calls) call.connected();
      },
    };
  }
}

/** True if the call has ended or has a first event, so that the format of its reply is decided. */
function isDecided({ session }: Call): boolean {
  return session.outcome !== undefined || session.log.lastLSN > 0;
}

/** Connects a stream that has no connection yet, or resumes it at an earlier position. */
export class Reconnection implements ReplyStream {
  readonly decided = true;
  readonly #client: ClientSession;
  readonly #feed: CallStream | NotificationStream;
  readonly #cursors: readonly number[] | undefined;

  constructor(
    client: ClientSession,
    feed: CallStream | NotificationStream,
    cursors?: readonly number[],
  ) {
    this.#client = client;
    this.#feed = feed;
    this.#cursors = cursors;
  }

  get principal(): string {
    return this.#client.principal;
  }

  whole(): undefined {}

  watch(): () => void {
    return () => {};
  }

  refuse(problem: string): Refused {
    return busy(undefined, problem, LEGACY_ERRORS);
  }

  open(): OpenStream {
    return openStream(this.#client, this.#feed, undefined, this.#cursors);
  }
}

/** Opens a stream. Closes the stream's previous connection, so that each message is sent once. */
function openStream(
  client: ClientSession,
  feed: CallStream | NotificationStream,
  first: readonly string[] = [],
  cursors?: readonly number[],
): OpenStream {
  const { registry, deadlines, access } = client.core;
  let stopWatching: (() => void) | undefined;
  feed.connection?.close();
  if (cursors) feed.seek(cursors);
  const calls = feed instanceof CallStream ? feed.calls : [];
  const sessions = calls.filter((call) => call.isHere).map((call) => call.session);
  for (const session of sessions) registry.hold(session);
  const eventId = since(client.version, "2025-11-25") ? feed.position : undefined;
  return {
    feed,
    first,
    priming: { eventId },
    connected(connection) {
      feed.connection = connection;
      if (!client.who) return;
      // ACCESS-4, ACCESS-5: end the stream when the token expires or is revoked.
      stopWatching = access.whenEnded(client.who, deadlines, (why) => {
        if (why === "revoked") connection.close();
        else if (!(feed instanceof CallStream)) connection.end();
      });
    },
    closed(connection) {
      stopWatching?.();
      for (const session of sessions) registry.letGo(session);
      if (feed.connection === connection) feed.connection = undefined;
      client.lastSeen = deadlines.now();
      if (client instanceof SessionlessClient) client.leave(sessions);
    },
  };
}
