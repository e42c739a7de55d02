/** A channel in memory, with the test at its other end. */
import { type Operation, resource, until } from "effection";
import { createParley, type ParleyOptions, type Stdio } from "parley-mcp";
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  PROTOCOL_VERSION,
} from "../../../src/wire/modern/meta.ts";

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { [key: string]: unknown };
  readonly result?: { [key: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const encoder = new TextEncoder();

export class Client implements Stdio {
  readonly input: ReadableStream<Uint8Array>;
  /** Every line that arrived, parsed. */
  readonly messages: Message[] = [];
  /** How much was written at a time. */
  readonly writes: number[] = [];
  /** Set to make the reader slow: each write waits for it. */
  gate: Promise<void> | undefined;
  /** Set to break the output. */
  broken = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #rest = "";
  readonly #decoder = new TextDecoder();
  #news: (() => void)[] = [];
  #lastId = 0;

  constructor() {
    this.input = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
    });
  }

  write = async (bytes: Uint8Array): Promise<void> => {
    await this.gate;
    if (this.broken) throw new Error("nobody reads any more");
    this.writes.push(bytes.length);
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop()!;
    this.messages.push(...lines.map((line) => JSON.parse(line)));
    for (const wake of this.#news.splice(0)) wake();
  };

  /** Sends raw bytes. */
  raw(bytes: string | Uint8Array): void {
    this.#controller.enqueue(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
  }

  /** Sends a message. */
  send(message: object): void {
    this.raw(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Sends a legacy request. */
  request(method: string, params: object = {}): number {
    const id = ++this.#lastId;
    this.send({ id, method, params });
    return id;
  }

  /** Sends a modern request. */
  modern(method: string, params: object = {}, version = "2026-07-28"): number {
    const _meta = {
      [PROTOCOL_VERSION]: version,
      [CLIENT_INFO]: { name: "test", version: "1" },
      [CLIENT_CAPABILITIES]: ABLE,
      ...(params as { _meta?: object })._meta,
    };
    return this.request(method, { ...params, _meta });
  }

  initialize(protocolVersion = "2025-11-25"): number {
    return this.request("initialize", {
      protocolVersion,
      capabilities: ABLE,
      clientInfo: { name: "test", version: "1" },
    });
  }

  /** The first matching message, once it arrives. */
  async find(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => this.#news.push(resolve));
    }
  }

  /** The response to a request. */
  answerTo(id: number): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  /** Ends the input. */
  end(): void {
    this.#controller.close();
  }

  /** Breaks the input. */
  fail(): void {
    this.#controller.error(new Error("the pipe broke"));
  }
}

export const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export interface Served {
  readonly client: Client;
  readonly parley: ReturnType<typeof createParley>;
  /** Resolves when the channel is no longer served. */
  readonly ended: Promise<void>;
  readonly abort: AbortController;
  readonly faults: unknown[];
}

/** A server on its own channel. */
export function useStdio(options: ParleyOptions): Operation<Served> {
  return resource(function* (provide) {
    const client = new Client();
    const abort = new AbortController();
    const faults: unknown[] = [];
    const parley = createParley({ report: ({ error }) => faults.push(error), ...options });
    const ended = parley.stdio({ channel: client, signal: abort.signal });
    try {
      yield* provide({ client, parley, ended, abort, faults });
    } finally {
      abort.abort();
      yield* until(parley.close());
      yield* until(ended);
    }
  });
}
