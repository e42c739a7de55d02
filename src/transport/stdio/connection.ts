/**
 * The connection to one client over one channel, such as stdio. It receives messages and sends any
 * number of messages for each.
 *
 * STDIO-1  When `close()` resolves, all runs of this connection have ended, including their
 *          `finally` blocks.
 * STDIO-2  After a request is cancelled, nothing more is sent for it.
 */
import { shapeProblem } from "../../lib/json-shape.ts";
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from "../../model/rpc-codes.ts";
import type { ServerCore } from "../../server/core.ts";
import type { Channel, Eras } from "../../server/eras.ts";
import { type ChannelReply, type Later, type SharedStream, textOf } from "../../server/reply.ts";
import { type LiveToolSession, tooLongABatch } from "../../server/run-target.ts";
import { errorText, readMessage, type RpcId, type RpcMessage } from "../../wire/json-rpc.ts";
import { Outbox } from "../outbox.ts";

/** A channel has one caller: the program on its other end. The caller has no name. */
const PRINCIPAL = "";

/** When the set of runs reaches this size, runs that have ended are removed from it. */
const MANY_RUNS = 256;

export class Connection {
  readonly #core: ServerCore;
  readonly #channel: Channel;
  readonly #outbox: Outbox;
  /** Functions that cancel running requests, by request id. */
  readonly #cancels = new Map<RpcId, () => void>();
  /** Runs started on this connection that may still be running or waiting for an answer. */
  readonly #runs = new Set<LiveToolSession>();
  #closed = false;

  /** `wake` is called when `read` has messages to return. */
  constructor(core: ServerCore, eras: Eras, wake: () => void) {
    this.#core = core;
    this.#outbox = new Outbox(core.deadlines);
    this.#channel = eras.connect(PRINCIPAL, this.#cancels, (message) => this.#outbox.post(message));
    this.#outbox.watch(wake);
  }

  /** True while so much output is unread that no more input should be accepted. */
  get crowded(): boolean {
    return this.#outbox.crowded;
  }

  /** True after the outbox was closed, for example because too much output was unread. */
  get abandoned(): boolean {
    return this.#outbox.done;
  }

  /** Returns all messages that are ready to be sent, each on its own line. */
  read(): string {
    let lines = "";
    this.#outbox.read((message) => lines += `${message}\n`);
    return lines;
  }

  /** Resolves when the definitions that a line needs are loaded. Undefined if there is no wait. */
  before(line: string): Promise<void> | undefined {
    return this.#core.arrival?.beforeText(line);
  }

  /** Handles one line of input. */
  receive(line: string): void {
    if (this.#closed) return;
    const { limits } = this.#core;
    const problem = shapeProblem(line, limits.maxParts);
    if (problem) {
      const { state, remedy } = problem;
      return this.refuse(INVALID_REQUEST, `Cannot read the line: ${state}; ${remedy}`);
    }
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return this.refuse(
        PARSE_ERROR,
        "Cannot read the line: it is not JSON; send one JSON-RPC message on each line",
      );
    }
    if (!Array.isArray(value)) return this.#take(value);
    if (value.length > limits.maxBatch) {
      return this.refuse(INVALID_REQUEST, tooLongABatch(value.length, limits.maxBatch));
    }
    // A batch (revision 2025-03-26). On a channel, each of its messages is handled on its own.
    for (const item of value) this.#take(item);
  }

  /** Sends an error for input that could not be read or handled. */
  refuse(code: number, message: string, id?: RpcId): void {
    this.#outbox.post(errorText(id, { code, message }));
  }

  /** Halts all runs that this client started, and waits until they have cleaned up (STDIO-1). */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    for (const cancel of [...this.#cancels.values()]) cancel();
    this.#cancels.clear();
    this.#channel.end(reason);
    // A deferred run does not depend on the client that began it.
    const left = [...this.#runs].filter(({ outcome, deferred }) => !outcome && !deferred);
    for (const session of left) session.halt(reason, "caller");
    await Promise.all(left.map(ended));
  }

  #take(value: unknown): void {
    const message = readMessage(value);
    try {
      if (message.type === "notification" && message.method === "notifications/cancelled") {
        this.#cancels.get(message.params.requestId as RpcId)?.();
      }
      this.#deliver(message, this.#channel.receive(message));
    } catch (error) {
      this.#fail(message, error);
    }
  }

  #fail(message: RpcMessage, error: unknown): void {
    this.#core.registry.report({
      what: "a message could not be handled",
      toolName: "-",
      sessionId: "-",
      error,
    });
    this.refuse(
      INTERNAL_ERROR,
      "Cannot answer: an internal error occurred; see the server's log",
      message.type === "request" ? message.id : undefined,
    );
  }

  #deliver(message: RpcMessage, reply: ChannelReply): void {
    switch (reply.type) {
      case "accepted":
        return;
      case "refused":
      case "value":
        return this.#outbox.post(textOf(reply));
      case "later":
        return this.#deliverLater(message, reply);
      case "stream":
        return this.#add(reply.stream);
    }
  }

  /** Sends a reply when it is ready. STDIO-2: a request that is cancelled before that gets no reply. */
  #deliverLater(message: RpcMessage, later: Later<SharedStream>): void {
    const { id } = later;
    if (id !== undefined) {
      this.#cancels.set(id, () => {
        this.#cancels.delete(id);
        later.leave?.();
      });
    }
    later.ready.then(() => {
      if (id === undefined || this.#cancels.delete(id)) this.#deliver(message, later.reply());
    }).catch((error) => this.#fail(message, error));
  }

  /** Sends the messages of a stream. STDIO-2: cancelling the request removes the stream. */
  #add(stream: SharedStream): void {
    const { id, session } = stream;
    if (session && !session.outcome) this.#started(session);
    if (id === undefined) return this.#outbox.add(stream);
    this.#cancels.set(id, () => this.#outbox.remove(stream));
    this.#outbox.add(stream, () => this.#cancels.delete(id));
  }

  #started(session: LiveToolSession): void {
    if (this.#runs.size >= MANY_RUNS) {
      for (const run of this.#runs) if (run.outcome) this.#runs.delete(run);
    }
    this.#runs.add(session);
  }
}

/** Waits until a run that is being halted has cleaned up. */
function ended({ log, outcome }: LiveToolSession): Promise<void> {
  if (outcome || log.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const unwatch = log.watch(() => {
      if (!log.closed) return;
      unwatch();
      resolve();
    });
  });
}
