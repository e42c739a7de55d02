/** A modern client that sends only what a test tells it to. */
import assert from "node:assert/strict";
import { Exchange, type Fetch, type Message, ORIGIN } from "../exchange.ts";

export const VERSION = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";

/** All capabilities of a client, except tasks. */
export const ABLE = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
};
export const ABLE_WITH_TASKS = { ...ABLE, extensions: { [TASKS]: {} } };

export interface ClientOptions {
  readonly capabilities?: object;
  /** Additional fields for `_meta`. */
  readonly meta?: object;
  /** Headers for every request. */
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

export interface PostOptions {
  readonly meta?: object;
  /** Headers that replace the right ones; null leaves one out. */
  readonly headers?: Record<string, string | null>;
  readonly signal?: AbortSignal;
  readonly id?: string | number;
}

type Params = { readonly [key: string]: unknown };

const NAMES: { readonly [method: string]: string } = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

let lastId = 0;

export class TestClient {
  readonly #fetch: Fetch;
  readonly #options: ClientOptions;

  constructor(fetch: Fetch, options: ClientOptions = {}) {
    this.#fetch = fetch;
    this.#options = options;
  }

  /** Posts a request as the revision requires it. */
  async start(method: string, params: Params = {}, options: PostOptions = {}): Promise<Exchange> {
    const id = options.id ?? ++lastId;
    const _meta = { ...this.meta(), ...options.meta };
    const body = { jsonrpc: "2.0", id, method, params: { ...params, _meta } };
    const name = params[NAMES[method] ?? ""];
    const headers = {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...options.headers,
    };
    return new Exchange(await this.post(body, headers, options.signal), id);
  }

  meta(): object {
    return {
      "io.modelcontextprotocol/protocolVersion": VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "test client", version: "1.2.3" },
      "io.modelcontextprotocol/clientCapabilities": this.#options.capabilities ?? ABLE,
      ...this.#options.meta,
    };
  }

  /** Posts any body. */
  async post(
    body: unknown,
    headers: Record<string, string | null> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const all = new Headers({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...this.#options.headers,
    });
    for (const [name, value] of Object.entries(headers)) {
      if (value === null) all.delete(name);
      else all.set(name, value);
    }
    return await this.#fetch(
      new Request(this.#options.url ?? `${ORIGIN}/mcp`, {
        method: "POST",
        headers: all,
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...(signal && { signal }),
      }),
    );
  }

  /** Posts a request and returns its response, skipping what comes before. */
  async request(method: string, params?: Params, options?: PostOptions): Promise<Message> {
    return await answerOf(await this.start(method, params, options));
  }

  /** The result of a request, which must have one. */
  async result(
    method: string,
    params?: Params,
    options?: PostOptions,
  ): Promise<Message["result"]> {
    return resultIn(await this.request(method, params, options));
  }

  /** The error of a request, which must have one. */
  async error(method: string, params?: Params, options?: PostOptions): Promise<Message["error"]> {
    const answer = await this.request(method, params, options);
    assert.ok(answer.error, JSON.stringify(answer));
    return answer.error;
  }

  /** Calls a tool. */
  async call(name: string, args: object = {}, more: Params = {}): Promise<Message["result"]> {
    return await this.result("tools/call", { name, arguments: args, ...more });
  }
}

/** The last message of an exchange, which must be its response. */
export async function answerOf(exchange: Exchange): Promise<Message> {
  const answer = (await exchange.rest()).at(-1);
  assert.equal(answer?.id, exchange.id, JSON.stringify(answer));
  return answer!;
}

export function resultIn(answer: Message): Message["result"] {
  assert.ok(answer.result, JSON.stringify(answer));
  return answer.result;
}

/** An accepted form. */
export function accept(content: object): object {
  return { action: "accept", content };
}

/** A model's answer. */
export function said(text: string): object {
  return { role: "assistant", content: { type: "text", text }, model: "m", stopReason: "endTurn" };
}

/** The keys of a result's questions; there must be some. */
export function asked(result: Message["result"]): string[] {
  assert.equal(result.resultType, "input_required", JSON.stringify(result));
  return Object.keys(result.inputRequests);
}

/** The text of a complete result. */
export function textOf(result: Message["result"]): string {
  assert.equal(result.resultType, "complete", JSON.stringify(result));
  return result.content.map(({ text }: { text: string }) => text).join("");
}
