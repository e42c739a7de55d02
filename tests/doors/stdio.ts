/** A client of either era on a channel of a server, with the interface of `Host`. */
import assert from "node:assert/strict";
import type { Parley } from "parley-mcp";
import type { Message } from "../support/exchange.ts";
import { VERSION } from "../support/modern/client.ts";
import type { Era, Host, HostOptions, Result } from "./host.ts";

export interface StdioHost extends Host {
  close(): Promise<void>;
}

/** One end of a channel. */
export interface Channel {
  send(line: string): void;
  close(): Promise<void>;
}

/** Opens a channel. `hear` gets each line from the server, `end` is called if the server ends. */
export type OpenChannel = (hear: (line: string) => void, end: () => void) => Promise<Channel>;

/** The channel ended while a request waited for its response. */
export class ChannelEnded extends Error {}

/** A client that opens the next channel by itself if the last one has ended. */
export class StdioClient implements StdioHost {
  readonly #era: Era;
  readonly #open: OpenChannel;
  readonly #options: HostOptions;
  #channel: Promise<Channel> | undefined;
  readonly #waiting = new Map<
    unknown,
    { resolve: (message: Message) => void; reject: (error: Error) => void }
  >();
  #isClosed = false;
  #lastId = 0;
  rounds = 0;

  constructor(era: Era, open: OpenChannel, options: HostOptions = {}) {
    this.#era = era;
    this.#open = open;
    this.#options = options;
  }

  connect(): Promise<Channel> {
    return this.#channel ??= this.#connect();
  }

  async #connect(): Promise<Channel> {
    const channel = await this.#open((line) => this.#hear(channel, line), () => {
      this.#channel = undefined;
      for (const { reject } of this.#waiting.values()) reject(new ChannelEnded());
      this.#waiting.clear();
    });
    if (this.#era === "legacy") {
      const protocolVersion = "2025-11-25";
      const { capabilities = {} } = this.#options;
      const { clientInfo } = this;
      await this.#exchange(channel, "initialize", { protocolVersion, capabilities, clientInfo });
      this.#send(channel, { method: "notifications/initialized" });
    }
    return channel;
  }

  get clientInfo(): object {
    const { name = "test client", version = "1.2.3" } = this.#options;
    return { name, version };
  }

  #send(channel: Channel, message: object): void {
    // A late answer of a client that has gone.
    if (!this.#isClosed) channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  #hear(channel: Channel, line: string): void {
    const message: Message = JSON.parse(line);
    if (message.method === undefined) {
      this.#waiting.get(message.id)?.resolve(message);
      this.#waiting.delete(message.id);
    } else if (message.id !== undefined) void this.#respond(channel, message);
  }

  async #respond(channel: Channel, { id, method, params }: Message): Promise<void> {
    this.#send(channel, { id, result: await this.#options.answer!({ method: method!, params }) });
  }

  #exchange(channel: Channel, method: string, params: object): Promise<Message> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send(channel, { id, method, params });
    });
  }

  async request(method: string, params: object = {}): Promise<Message> {
    if (this.#era === "legacy") return await this.#exchange(await this.connect(), method, params);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": VERSION,
      "io.modelcontextprotocol/clientInfo": this.clientInfo,
      "io.modelcontextprotocol/clientCapabilities": this.#options.capabilities ?? {},
    };
    let message = await this.#exchange(await this.connect(), method, { ...params, _meta });
    while (message.result?.resultType === "input_required") {
      this.rounds++;
      const { inputRequests, requestState } = message.result;
      const inputResponses: Result = {};
      for (const [key, asked] of Object.entries<Result>(inputRequests)) {
        inputResponses[key] = await this.#options.answer!(asked);
      }
      const retry = { ...params, requestState, inputResponses, _meta };
      message = await this.#exchange(await this.connect(), method, retry);
    }
    return message;
  }

  async call(tool: string, args: object = {}): Promise<Result> {
    const { result, error } = await this.request("tools/call", { name: tool, arguments: args });
    assert.ok(result, JSON.stringify(error));
    return result;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#channel)?.close();
  }
}

export async function connectStdio(
  era: Era,
  parley: Parley,
  options: HostOptions = {},
): Promise<StdioHost> {
  const client = new StdioClient(
    era,
    (hear) => Promise.resolve(openChannel(parley, hear)),
    options,
  );
  await client.connect();
  return client;
}

/** Serves a channel in this process. */
export function openChannel(parley: Parley, hear: (line: string) => void): Channel {
  let input!: ReadableStreamDefaultController<Uint8Array>;
  let rest = "";
  const ended = parley.stdio({
    channel: {
      input: new ReadableStream({ start: (controller) => void (input = controller) }),
      write(bytes) {
        const lines = (rest + new TextDecoder().decode(bytes)).split("\n");
        rest = lines.pop()!;
        for (const line of lines) hear(line);
        return Promise.resolve();
      },
    },
  });
  return {
    send: (line) => input.enqueue(new TextEncoder().encode(`${line}\n`)),
    async close() {
      input.close();
      await ended;
    },
  };
}
