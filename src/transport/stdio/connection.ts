/**
 * One client on one channel: a message in, any number of messages out. The era
 * is that of each message; `initialize` opens the legacy one for the rest of the
 * connection, and a modern request is served whatever came before.
 *
 * C1  Everything that was started here has ended when `close()` resolves, its
 *     `finally` blocks included.
 * C2  After a request is cancelled, nothing more is said of it.
 */
import { shapeProblem } from "../../lib/json-shape.ts";
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  PARSE_ERROR,
  SERVER_BUSY,
  UNSUPPORTED_VERSION,
} from "../../model/rpc-codes.ts";
import type { ServerCore } from "../../server/core.ts";
import { tooLongABatch } from "../../server/legacy/batch.ts";
import { ClientSession } from "../../server/legacy/client-session.ts";
import { receive, type Received } from "../../server/legacy/receive.ts";
import type { ModernReceived, ModernReceiver } from "../../server/modern/receive.ts";
import type { LiveToolSession } from "../../server/run-target.ts";
import {
  errorText,
  readMessage,
  type RpcId,
  type RpcMessage,
  type RpcRequest,
} from "../../wire/json-rpc.ts";
import { claimedVersion, claimsModern, readMeta } from "../../wire/modern/meta.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import { carry, Outbox } from "../outbox.ts";
import type { Feed } from "../../server/feed.ts";

/** Whoever holds the other end of the channel started us, or was let in by who did. */
const PRINCIPAL = "";

/** Ended runs are forgotten whenever so many have gathered. */
const MANY_RUNS = 256;

export class Connection {
  readonly #core: ServerCore;
  readonly #modern: ModernReceiver;
  readonly #outbox: Outbox;
  /** How the requests of the modern era that are under way are cancelled. */
  readonly #waiting = new Map<RpcId, () => void>();
  /** Everything started here that may be at work, or wait for the client to come back. */
  readonly #runs = new Set<LiveToolSession>();
  #client: ClientSession | undefined;
  #closed = false;

  /** `wake` is called when there is something to `read`. */
  constructor(core: ServerCore, modern: ModernReceiver, wake: () => void) {
    this.#core = core;
    this.#outbox = new Outbox(core.deadlines);
    this.#modern = modern;
    this.#outbox.watch(wake);
  }

  /** True while the client reads too little of what it is told to be heard any further. */
  get crowded(): boolean {
    return this.#outbox.crowded;
  }

  /** True once so much was left unread that nobody can be there. */
  get abandoned(): boolean {
    return this.#outbox.done;
  }

  /** Everything that is ready to be sent, one message to a line. */
  read(): string {
    let lines = "";
    this.#outbox.read((message) => lines += `${message}\n`);
    return lines;
  }

  /** What has to be there before a line is taken, if it is not there yet. */
  before(line: string): Promise<void> | undefined {
    return this.#core.arrival?.beforeText(line);
  }

  /** Takes one line. */
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
        "Cannot read the line: it is no JSON; send one JSON-RPC message on each line",
      );
    }
    if (!Array.isArray(value)) return this.#takeSafely(value);
    if (value.length > limits.maxBatch) {
      return this.refuse(INVALID_REQUEST, tooLongABatch(value.length, limits.maxBatch));
    }
    // One revision had batches. Taking each message by itself is all that they mean here.
    for (const item of value) this.#takeSafely(item);
  }

  /** Says that something could not be read at all. */
  refuse(code: number, message: string, id?: RpcId): void {
    this.#outbox.post(errorText(id, { code, message }));
  }

  /** Halts what this client has under way, and waits until all of it has cleaned up. */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    for (const stop of [...this.#waiting.values()]) stop();
    this.#waiting.clear();
    this.#client?.end(reason);
    const left = [...this.#runs].filter(({ outcome }) => !outcome);
    for (const session of left) session.halt(reason, "caller");
    await Promise.all(left.map(ended));
  }

  #takeSafely(value: unknown): void {
    try {
      this.#take(value);
    } catch (error) {
      this.#core.registry.report({
        what: "a message could not be taken",
        toolName: "-",
        sessionId: "-",
        error,
      });
      const message = readMessage(value);
      this.refuse(
        INTERNAL_ERROR,
        "Cannot answer: the server failed; its log has the details",
        message.type === "request" ? message.id : undefined,
      );
    }
  }

  #take(value: unknown): void {
    const message = readMessage(value);
    if (message.type === "request" && claimsModern(message.params)) {
      return this.#takeModern(message);
    }
    if (message.type === "notification" && message.method === "notifications/cancelled") {
      this.#waiting.get(message.params.requestId as RpcId)?.();
    }
    this.#takeLegacy(message);
  }

  #started(session: LiveToolSession): void {
    if (this.#runs.size >= MANY_RUNS) {
      for (const run of this.#runs) if (run.outcome) this.#runs.delete(run);
    }
    if (!session.outcome) this.#runs.add(session);
  }

  // ------------------------------------------------------------- legacy era

  #takeLegacy(message: RpcMessage): void {
    if (message.type === "request" && message.method === "initialize") {
      this.#client?.end("the client started anew");
      const { standing } = this.#client = new ClientSession("", PRINCIPAL, this.#core);
      standing.watch(() => standing.read((message) => this.#outbox.post(message)));
    }
    const client = this.#client;
    if (!client) return this.#notInitialized(message);
    this.#takeReceived(receive(client, message));
  }

  #takeReceived(received: Received): void {
    switch (received.type) {
      case "soon":
        received.received.then((then) => this.#takeReceived(then));
        return;
      case "accepted":
        return;
      case "refused":
        return this.refuse(INVALID_REQUEST, received.problem, received.id);
      case "busy":
        return this.refuse(SERVER_BUSY, received.problem, received.id);
      case "reply":
        return this.#outbox.post(received.text);
      case "later":
        received.text.then((text) => this.#outbox.post(text));
        return;
      case "call":
        this.#started(received.call.session);
        return carry(this.#outbox, received.call);
    }
  }

  #notInitialized(message: RpcMessage): void {
    if (message.type === "notification") return;
    const problem = message.type === "invalid"
      ? `Cannot read the message: ${message.problem}; send JSON-RPC 2.0`
      : "Cannot serve the request: nothing says who calls; send initialize first, or the metadata of 2026-07-28";
    this.refuse(INVALID_REQUEST, problem, message.type === "answer" ? undefined : message.id);
  }

  // ------------------------------------------------------------- modern era

  #takeModern(request: RpcRequest): void {
    const { id } = request;
    // First of all the revision: what else a request must say depends on it.
    const version = claimedVersion(request.params);
    if (version !== undefined && version !== MODERN_VERSION) {
      return this.#outbox.post(errorText(id, {
        code: UNSUPPORTED_VERSION,
        message:
          `Cannot serve protocol version "${version}": it is not supported here; take one of those in the data`,
        data: { supported: [MODERN_VERSION], requested: version },
      }));
    }
    const meta = readMeta(request.params);
    if ("problem" in meta) {
      return this.refuse(
        INVALID_PARAMS,
        `Cannot take the request: ${meta.problem}; ${meta.wayOut ?? "send it along"}`,
        id,
      );
    }
    if (this.#waiting.has(id)) {
      return this.refuse(
        INVALID_REQUEST,
        "Cannot take the request: its id is in use; send it with another",
        id,
      );
    }
    const asking = { meta, principal: PRINCIPAL };
    const receive = () => this.#modern.receive(request, asking);
    const takenUp = this.#modern.takeUp(request, asking);
    if (!takenUp) return this.#deliver(id, receive());
    // Unless it is cancelled meanwhile.
    this.#waiting.set(id, () => this.#waiting.delete(id));
    takenUp.then((received) => {
      if (this.#waiting.delete(id)) this.#deliver(id, received ?? receive());
    });
  }

  #deliver(id: RpcId, received: ModernReceived): void {
    switch (received.type) {
      case "reply":
        return this.#outbox.post(received.text);
      case "later":
        return this.#await(id, received.text, () => received.leave());
      case "busy":
        return this.refuse(INTERNAL_ERROR, received.problem, id);
      case "run":
        this.#started(received.feed.session);
        return this.#attend(id, received.feed, () => received.feed.release());
      case "listen":
        return this.#attend(id, received.subscription, () => received.subscription.stop());
    }
  }

  #await(id: RpcId, text: Promise<string>, leave: () => void): void {
    this.#waiting.set(id, () => {
      this.#waiting.delete(id);
      leave();
    });
    text.then((answer) => {
      if (this.#waiting.delete(id)) this.#outbox.post(answer);
    });
  }

  /** Sends what a request leads to, until it is answered or cancelled. */
  #attend(id: RpcId, feed: Feed, release: () => void): void {
    this.#waiting.set(id, () => this.#outbox.remove(feed));
    this.#outbox.add(feed, {
      release: () => {
        this.#waiting.delete(id);
        release();
      },
    });
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
