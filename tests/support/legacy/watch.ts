/**
 * A fetch handler under watch: every message to a legacy client is checked against
 * the official schema of that client's revision.
 *
 * Messages are passed on unchanged, chunk by chunk and only on request, so that
 * nothing behaves differently under watch.
 */
import { isLegacyVersion, type LegacyVersion } from "../../../src/wire/versions.ts";
import type { Fetch, Message } from "../exchange.ts";
import { complaintsAbout } from "./schemas.ts";
import { parseFrame } from "../sse.ts";

interface Watched {
  version: LegacyVersion;
  /** The methods of its requests, by id. */
  readonly methods: Map<unknown, string>;
}

export class Watch {
  readonly #clients = new Map<string, Watched>();
  readonly #checks: Promise<string[]>[] = [];
  #messages = 0;

  /** How many messages were checked. */
  get messages(): number {
    return this.#messages;
  }

  /** All complaints so far. */
  async complaints(): Promise<string[]> {
    return (await Promise.all(this.#checks)).flat();
  }

  over(fetch: Fetch): Fetch {
    return async (request) => {
      const posted = request.method === "POST" ? await request.clone().text() : "";
      const client = this.#clientOf(request);
      // Over HTTP+SSE the response may come first; elsewhere only accepted requests are answered.
      const isSse = new URL(request.url).searchParams.has("sessionId");
      if (isSse) this.#note(client, posted);
      const response = await fetch(request);
      if (!isSse && response.ok) this.#note(client, posted);
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        return this.#watchStream(client, response);
      }
      const text = await response.clone().text();
      if (text !== "" && !/^\/(healthz|readyz)$/.test(new URL(request.url).pathname)) {
        const sent = JSON.parse(text);
        const version = sent.result?.protocolVersion;
        const started = response.headers.get("mcp-session-id");
        if (isLegacyVersion(version)) client.version = version;
        if (started) this.#clients.set(started, client);
        for (const message of [sent].flat()) this.#check(client, message);
      }
      return response;
    };
  }

  #clientOf(request: Request): Watched {
    const id = request.headers.get("mcp-session-id") ??
      new URL(request.url).searchParams.get("sessionId");
    const known = id === null ? undefined : this.#clients.get(id);
    return known ?? { version: "2025-11-25", methods: new Map() };
  }

  #note(client: Watched, posted: string): void {
    let messages: unknown;
    try {
      messages = JSON.parse(posted);
    } catch {
      return;
    }
    for (const message of [messages].flat() as Partial<Message>[]) {
      if (typeof message?.method === "string") client.methods.set(message.id, message.method);
    }
  }

  #watchStream(client: Watched, response: Response): Response {
    const decoder = new TextDecoder();
    let text = "";
    const see = (chunk: Uint8Array) => {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const { event, data } = parseFrame(text.slice(0, end));
        text = text.slice(end + 2);
        if (event === "endpoint") this.#clients.set(data!.split("sessionId=")[1]!, client);
        else if (data) this.#see(client, JSON.parse(data));
      }
    };
    const reader = response.body!.getReader();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        see(value);
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    }, { highWaterMark: 0 });
    return new Response(body, response);
  }

  /** On the single stream of HTTP+SSE, even the version comes as an event. */
  #see(client: Watched, message: Message): void {
    const version = message.result?.protocolVersion;
    if (isLegacyVersion(version)) client.version = version;
    this.#check(client, message);
  }

  #check(client: Watched, message: Message): void {
    this.#messages++;
    const method = client.methods.get(message.id);
    this.#checks.push(complaintsAbout(client.version, message, method));
  }
}
