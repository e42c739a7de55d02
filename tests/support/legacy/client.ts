/** A legacy client that sends only what a test tells it to. */
import assert from "node:assert/strict";
import type { LegacyVersion } from "../../../src/wire/versions.ts";
import { Exchange, type Fetch, type Message, ORIGIN } from "../exchange.ts";

/** All capabilities of a client. */
export const ABLE = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};

export interface ClientOptions {
  readonly version?: LegacyVersion;
  readonly capabilities?: object;
  readonly name?: string;
  /** Headers for every request. */
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

export class TestClient {
  readonly #fetch: Fetch;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #lastId = 0;
  sessionId: string | undefined;

  constructor(fetch: Fetch, { headers = {}, url = `${ORIGIN}/mcp` }: ClientOptions = {}) {
    this.#fetch = fetch;
    this.#url = url;
    this.#headers = headers;
  }

  /** A client that is initialized. */
  static async connect(fetch: Fetch, options: ClientOptions = {}): Promise<TestClient> {
    const client = new TestClient(fetch, options);
    const response = await client.post(initialize(options));
    assert.equal(response.status, 200);
    const { result } = await response.json();
    assert.equal(result?.protocolVersion, options.version ?? "2025-11-25");
    client.sessionId = response.headers.get("mcp-session-id") ?? undefined;
    assert.ok(client.sessionId);
    assert.equal((await client.notify("notifications/initialized")).status, 202);
    return client;
  }

  /** Posts any body. */
  async post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return await this.send("POST", {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    }, text);
  }

  async send(
    method: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<Response> {
    const session = this.sessionId === undefined ? {} : { "mcp-session-id": this.sessionId };
    const all = { ...session, ...this.#headers, ...headers };
    const request = new Request(this.#url, {
      method,
      headers: all,
      ...(body !== undefined && { body }),
    });
    return await this.#fetch(request);
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /** Posts a request and returns the exchange. */
  async start(
    method: string,
    params?: object,
    id: string | number = this.nextId(),
  ): Promise<Exchange> {
    return new Exchange(
      await this.post({ jsonrpc: "2.0", id, method, ...(params && { params }) }),
      id,
    );
  }

  /** Posts a request and returns its response, skipping what comes before. */
  async request(method: string, params?: object): Promise<Message> {
    const exchange = await this.start(method, params);
    const messages = await exchange.rest();
    const answer = messages.at(-1);
    assert.equal(answer?.id, exchange.id);
    return answer!;
  }

  /** Calls a tool. */
  async call(name: string, args: object = {}, meta?: object): Promise<Exchange> {
    return await this.start("tools/call", { name, arguments: args, ...(meta && { _meta: meta }) });
  }

  async notify(method: string, params?: object): Promise<Response> {
    return await this.post({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  /** Answers a request from the server. */
  async answer(request: Message, result: object): Promise<Response> {
    return await this.post({ jsonrpc: "2.0", id: request.id, result });
  }

  /** Opens the notification stream, or resumes a stream. */
  async listen(lastEventId?: string): Promise<Exchange> {
    return new Exchange(
      await this.send("GET", {
        accept: "text/event-stream",
        ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      }),
    );
  }

  async end(): Promise<Response> {
    return await this.send("DELETE");
  }
}

export function initialize(
  { version = "2025-11-25", capabilities = {}, name = "test client" }: ClientOptions = {},
): Message {
  const clientInfo = { name, version: "1.2.3" };
  const params = { protocolVersion: version, capabilities, clientInfo };
  return { jsonrpc: "2.0", id: 0, method: "initialize", params };
}

export function textOf(result: Message["result"]): string {
  return result.content.map((block: { text?: string }) => block.text ?? "").join("");
}
