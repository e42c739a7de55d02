/**
 * A model behind a real socket: it sends scripted responses, and records its requests. It refuses
 * ids of tool calls that providers refuse. Also a clock that never makes anybody wait.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createSamplingProvider, type SamplingProvider } from "../../src/mod.ts";
import { modelIdProblem } from "../support/model-ids.ts";

/** What the model received. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** What the model does with a request. */
export type Reply =
  | { status?: number; headers?: Record<string, string>; json: unknown }
  | { status?: number; headers?: Record<string, string>; text: string }
  /** Never answers; sends half a response and stops; drops the connection. */
  | "hang"
  | "stall"
  | "reset";

/** One after the other, the last one for ever, or computed from the request. */
export type Replies = readonly Reply[] | ((received: Received, nth: number) => Reply);

export interface FakeModel {
  readonly url: string;
  readonly received: Received[];
  /** Settles when this many requests have arrived. */
  arrived(count: number): Promise<void>;
  /** Settles when the client has dropped a connection that was still open. */
  readonly dropped: Promise<void>;
  close(): Promise<void>;
}

export async function startFakeModel(replies: Replies): Promise<FakeModel> {
  const received: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const dropped = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) dropped.resolve();
    });
    const text = await textOf(request);
    const nth = received.length;
    received.push({
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
    });
    for (const { count, resolve } of waiting) if (received.length >= count) resolve();
    const problem = modelIdProblem(received[nth]!.body);
    if (problem !== undefined) {
      return send(response, { status: 400, json: { error: { message: problem } } });
    }
    const reply = typeof replies === "function"
      ? replies(received[nth]!, nth)
      : replies[Math.min(nth, replies.length - 1)]!;
    send(response, reply);
  });
  return {
    url: await listening(server),
    received,
    arrived: (count) =>
      received.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ count, resolve })),
    dropped: dropped.promise,
    close: () => closed(server),
  };
}

/** An address on this machine where nobody listens. */
export async function nobodysUrl(): Promise<string> {
  const server = createServer();
  const url = await listening(server);
  await closed(server);
  return url;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await ended;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === "hang") return;
  if (reply === "reset") {
    response.destroy();
    return;
  }
  if (reply === "stall") {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"choices":[');
    return;
  }
  const isJson = "json" in reply;
  response.writeHead(reply.status ?? 200, {
    "content-type": isJson ? "application/json" : "text/plain",
    ...reply.headers,
  });
  response.end(isJson ? JSON.stringify(reply.json) : reply.text);
}

export const TIMEOUT = 60_000;

/** Pauses end at once; timeouts fire on request. */
export function createTestClock() {
  const pauses: number[] = [];
  const limits = new Set<() => void>();
  return {
    pauses,
    now: () => Date.UTC(2026, 10, 16),
    after(ms: number, fire: () => void): () => void {
      if (ms !== TIMEOUT) {
        pauses.push(ms);
        let isOff = false;
        queueMicrotask(() => isOff || fire());
        return () => isOff = true;
      }
      limits.add(fire);
      return () => limits.delete(fire);
    },
    /** Fires every timeout. */
    expire() {
      for (const fire of [...limits]) fire();
    },
    get limits() {
      return limits.size;
    },
  };
}

export type TestClock = ReturnType<typeof createTestClock>;

export interface Setting {
  readonly model: FakeModel;
  readonly provider: SamplingProvider;
  readonly clock: TestClock;
}

/** Runs `body` with a provider of this name that talks to a model with these replies. */
export async function withModel(
  name: string,
  replies: Replies,
  body: (setting: Setting) => Promise<void>,
  options: { readonly apiKey?: string; readonly retries?: number } = {
    apiKey: "sk-test-1234567890",
  },
): Promise<void> {
  const model = await startFakeModel(replies);
  const clock = createTestClock();
  const baseUrl = name.startsWith("ollama:") ? model.url : `${model.url}/v1`;
  try {
    const provider = createSamplingProvider({
      model: name,
      baseUrl,
      clock,
      timeout: TIMEOUT,
      ...options,
    });
    await body({ model, provider, clock });
  } finally {
    await model.close();
  }
}
