/**
 * Sends itself one message of each kind. Prints which files and functions each message passed
 * through, as one line of JSON. Runs on Deno; see bench/walks.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createParley, openStore, type Parley, type ParleyOptions, Sealer } from "../../src/mod.ts";
import { Coverage } from "../kit/coverage.ts";
import type { Walk, WalkName } from "../kit/walks.ts";
import { serve } from "./walked-tools.ts";

const LEGACY = "2025-11-25";
const MODERN = "2026-07-28";
const CLIENT = { name: "walks", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} } };
const SUM = { name: "add", arguments: { a: 1, b: 2 } };
/** A long `streamAfter`, so that a slow machine does not turn a response into a stream. */
const OPTIONS: ParleyOptions = { serve, limits: { streamAfter: 20_000 } };

const source = import.meta.resolve("../../src/");
const tools = import.meta.resolve("./walked-tools.ts");

interface Answer {
  readonly inputRequests?: { readonly [name: string]: unknown };
  readonly requestState?: string;
  readonly content?: readonly { readonly text: string }[];
}

const coverage = await Coverage.start();
const walks = [
  await walkLegacy(),
  ...await walkModern(),
  await walkRevived(),
  await walkStdio(),
];
coverage.stop();
console.log(JSON.stringify(walks));

/** Records what runs from sending a message until its answer has been read. */
async function measure<T>(name: WalkName, send: () => Promise<T>): Promise<[T, Walk]> {
  // Let work that earlier messages scheduled finish first.
  await new Promise((resolve) => setTimeout(resolve));
  await coverage.take();
  const answer = await send();
  const passed = await coverage.take();
  const files = passed.filter(({ url }) => url.startsWith(source))
    .map(({ url, functions }) => ({ file: `src/${url.slice(source.length)}`, functions }))
    .sort((a, b) => a.file < b.file ? -1 : 1);
  const tool = passed.find(({ url }) => url === tools)?.functions ?? [];
  return [answer, { name, tool, files }];
}

async function walkLegacy(): Promise<Walk> {
  const parley = createParley(OPTIONS);
  let session: Record<string, string> = {};
  const send = async (message: object) => {
    const response = await parley.fetch(post(message, session));
    const text = await response.text();
    const id = response.headers.get("mcp-session-id");
    if (id) session = { "mcp-session-id": id, "mcp-protocol-version": LEGACY };
    return text;
  };
  const params = { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: CLIENT };
  await send({ id: 1, method: "initialize", params });
  await send({ method: "notifications/initialized" });
  const [text, walk] = await measure(
    "legacy call",
    () => send({ id: 2, method: "tools/call", params: SUM }),
  );
  expect(JSON.parse(text).result.content?.[0].text === "3", text);
  await parley.close();
  return walk;
}

async function walkModern(): Promise<Walk[]> {
  const parley = createParley(OPTIONS);
  const call = { name: "pick", arguments: {} };
  const accept = { action: "accept", content: { n: 3 } };
  const ask = () => sendModern(parley, call);
  const retry = ({ requestState }: Answer) =>
    sendModern(parley, { ...call, requestState, inputResponses: { pick: accept } });
  // The first call also generates the form's JSON Schema; measure the second.
  await retry(await ask());
  const [asked, question] = await measure("modern question", ask);
  const [answer, retried] = await measure("modern retry", () => retry(asked));
  expect(answer.content?.[0]?.text === "picked 3", answer);
  await parley.close();
  return [question, retried];
}

async function walkRevived(): Promise<Walk> {
  const folder = mkdtempSync(join(tmpdir(), "parley-walks-"));
  const withServer = async <T>(body: (parley: Parley) => Promise<T>) => {
    const stores = await openStore(`sqlite:${join(folder, "store.db")}`);
    const parley = createParley({
      ...OPTIONS,
      store: stores.sessions,
      clients: stores.clients,
      sealer: new Sealer("a key that outlasts the server"),
    });
    try {
      return await body(parley);
    } finally {
      await parley.close();
      stores.close();
    }
  };
  try {
    const call = { name: "book", arguments: {} };
    const { requestState } = await withServer((parley) => sendModern(parley, call));
    const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
    const [answer, walk] = await withServer((parley) =>
      measure(
        "revived session",
        () => sendModern(parley, { ...call, requestState, inputResponses }),
      )
    );
    expect("sure" in (answer.inputRequests ?? {}), answer);
    return walk;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function walkStdio(): Promise<Walk> {
  const parley = createParley(OPTIONS);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const input = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  let answered: ((text: string) => void) | undefined;
  const write = (bytes: Uint8Array) => {
    answered?.(decoder.decode(bytes));
    return Promise.resolve();
  };
  const ended = parley.stdio({ channel: { input, write } });
  const send = (message: object) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    answered = resolve;
    controller!.enqueue(encoder.encode(`${text(message)}\n`));
    return promise;
  };
  const params = { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: CLIENT };
  await send({ id: 1, method: "initialize", params });
  // A notification has no answer. The answer to the ping shows that the notification was read.
  void send({ method: "notifications/initialized" });
  await send({ id: 2, method: "ping" });
  const [line, walk] = await measure(
    "stdio call",
    () => send({ id: 3, method: "tools/call", params: SUM }),
  );
  expect(JSON.parse(line).result.content?.[0].text === "3", line);
  controller!.close();
  await ended;
  await parley.close();
  return walk;
}

/** Calls a tool as a modern client does, and reads the result. */
async function sendModern(
  parley: Parley,
  params: { readonly name: string; readonly [key: string]: unknown },
): Promise<Answer> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
  };
  const headers = {
    "mcp-protocol-version": MODERN,
    "mcp-method": "tools/call",
    "mcp-name": params.name,
  };
  const message = { id: 1, method: "tools/call", params: { ...params, _meta } };
  const response = await parley.fetch(post(message, headers));
  const { result, error } = await response.json();
  expect(result !== undefined, error);
  return result;
}

/** A request with the headers that a runtime sets when it arrives over a socket. */
function post(message: object, headers: Record<string, string>): Request {
  const body = text(message);
  return new Request("http://127.0.0.1/mcp", {
    method: "POST",
    headers: {
      host: "127.0.0.1",
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "content-length": String(body.length),
      ...headers,
    },
    body,
  });
}

function text(message: object): string {
  return JSON.stringify({ jsonrpc: "2.0", ...message });
}

function expect(right: boolean, answer: unknown): void {
  if (!right) {
    throw new Error(`Cannot measure the walk: the answer is wrong: ${JSON.stringify(answer)}`);
  }
}
