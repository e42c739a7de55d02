/**
 * `/console/api`: `parley.calls` as JSON and SSE. Loaded on first use. `console.ts` checks who sent a
 * request before it comes here. The types of the JSON are in `model/calls.ts`.
 *
 *     GET  calls                the filter as query parameters    CallPage
 *     GET  calls/ID                                               CallDetail
 *     GET  calls/ID/events      from, limit                       CallEvents
 *     GET  watch                SSE: a CallChange for each change of any call
 *     GET  calls/ID/watch       SSE: a CallChange for each change of the call
 *     POST calls/ID/answer      { question, action, content? }    { outcome }
 *     POST calls/ID/cancel      { reason? }                       { cancelled }
 *     POST calls/ID/revive                                        { revived }
 *     POST calls/ID/replay                                        DryReplay
 *
 * An error is `{ error: { code, message } }`, where `code` is the HTTP status.
 *
 * API-1  A stream ends after `STREAM_TIME`, so that a visitor whose access has ended cannot watch for
 *        ever. The page then connects again.
 * API-2  A stream holds one pending change for each call at most, however slow its reader is.
 */
import { Buffer } from "node:buffer";
import { isObject } from "../lib/json.ts";
import { readAtMost } from "../lib/read-at-most.ts";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import {
  CALL_STATES,
  type CallChange,
  type CallFilter,
  type CallState,
  type OperatorAnswer,
} from "../model/calls.ts";
import type { JsonObject } from "../model/content.ts";
import {
  CallActionError,
  RegistryClosedError,
  SessionLimitError,
  SessionNotContinuedError,
} from "../model/errors.ts";
import { type Door, DOORS } from "../model/events.ts";
import type { RegistryParts } from "../registry/parts.ts";
import type { OperatorCalls } from "../session/types.ts";
import { KEEP_ALIVE } from "../wire/sse.ts";

/** The maximum size of the body of a request, in bytes. */
const MAX_BODY = 1024 * 1024;
/** The maximum number of streams at the same time. */
const MAX_STREAMS = 100;
/** Milliseconds after which a stream ends (API-1). */
const STREAM_TIME = 10 * 60_000;
/** Milliseconds between two comments that keep a silent stream open. */
const KEEP_ALIVE_EVERY = 15_000;

const STATES: readonly string[] = CALL_STATES;
const DOOR_NAMES: readonly string[] = DOORS;
const ORDERS: readonly string[] = ["waiting", "newest", "oldest"];

export interface CallsApiParts {
  readonly calls: OperatorCalls;
  readonly deadlines: Deadlines;
  readonly report: RegistryParts["report"];
}

export class CallsApi {
  readonly #parts: CallsApiParts;
  readonly #streams = new Set<ChangeStream>();

  constructor(parts: CallsApiParts) {
    this.#parts = parts;
  }

  /** Ends all streams. */
  close(): void {
    for (const stream of [...this.#streams]) stream.end();
  }

  /** Answers a request of a visitor. `path` starts after `/console/api/`. Never throws. */
  async serve(request: Request, path: string, mayAct: boolean): Promise<Response> {
    try {
      return await this.#route(request, path, mayAct);
    } catch (error) {
      return this.#refusal(error);
    }
  }

  async #route(request: Request, path: string, mayAct: boolean): Promise<Response> {
    const { calls } = this.#parts;
    const query = new URL(request.url).searchParams;
    const [area, id, action, ...more] = path.split("/").map(decoded);
    const isKnown = area === "watch" && id === undefined ||
      area === "calls" && more.length === 0 && id !== "" &&
        (action === undefined || Object.hasOwn(METHODS, action));
    if (!isKnown) {
      throw new Refused(404, `Cannot find "${path}": there is no such path; see the documentation`);
    }
    const method = action === undefined ? "GET" : METHODS[action]!;
    if (request.method !== method) {
      throw new Refused(
        405,
        `Cannot use ${request.method} here: the path has another method; use ${method}`,
      );
    }
    if (method === "POST" && !mayAct) {
      throw new Refused(
        403,
        "Cannot change calls: you may only look at them; ask for the scope console:act",
      );
    }
    if (area === "watch") return this.#watch();
    if (id === undefined) return json(await calls.list(filterIn(query)));
    switch (action) {
      case undefined:
        return json(await calls.get(id) ?? missing(id));
      case "events": {
        const from = numberIn(query, "from");
        const limit = numberIn(query, "limit");
        const window = {
          ...(from !== undefined && { from }),
          ...(limit !== undefined && { limit }),
        };
        return json(await calls.events(id, window) ?? missing(id));
      }
      case "watch":
        if (!(await calls.get(id))) missing(id);
        return this.#watch(id);
      case "answer": {
        const { question, ...answer } = await bodyOf(request);
        if (typeof question !== "string" || !isAnswer(answer)) {
          throw new Refused(
            400,
            "Cannot answer the call: the body lacks a question, or its action or content is not valid; send { question, action, content }",
          );
        }
        return json({ outcome: await calls.answer(id, question, answer) });
      }
      case "cancel": {
        const { reason } = await bodyOf(request);
        if (reason !== undefined && typeof reason !== "string") {
          throw new Refused(400, "Cannot cancel the call: the reason is not text; send { reason }");
        }
        return json({ cancelled: await calls.cancel(id, reason?.slice(0, MAX_REASON)) });
      }
      case "replay":
        await bodyOf(request);
        return json(await calls.replay(id));
      default:
        await bodyOf(request);
        return json({ revived: await calls.revive(id) });
    }
  }

  #watch(id?: string): Response {
    if (this.#streams.size >= MAX_STREAMS) {
      throw new Refused(503, "Cannot watch calls: too many streams are open; close one of them");
    }
    const { calls, deadlines } = this.#parts;
    const stream = new ChangeStream(calls.watch(id), deadlines, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return new Response(stream.body, {
      headers: { ...COMMON, "content-type": "text/event-stream" },
    });
  }

  #refusal(error: unknown): Response {
    if (error instanceof Refused) return refusal(error.status, error.message);
    if (error instanceof CallActionError) return refusal(STATUS[error.reason], error.message);
    if (error instanceof SessionNotContinuedError) return refusal(409, error.message);
    if (error instanceof RegistryClosedError || error instanceof SessionLimitError) {
      return refusal(503, error.message);
    }
    this.#parts.report({
      what: "a request of the console failed",
      toolName: "-",
      sessionId: "-",
      error,
    });
    return refusal(
      500,
      "Cannot answer the request: an internal error occurred; see the server's log",
    );
  }
}

/** The methods of the paths below a call. */
const METHODS: { readonly [action: string]: "GET" | "POST" } = {
  events: "GET",
  watch: "GET",
  answer: "POST",
  cancel: "POST",
  revive: "POST",
  replay: "POST",
};

const MAX_REASON = 1_000;

const STATUS: { readonly [reason in CallActionError["reason"]]: number } = {
  not_found: 404,
  not_open: 409,
  not_allowed: 403,
  invalid: 400,
  not_here: 409,
};

const COMMON = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * A stream of the changes of calls, as SSE. It ends when its reader leaves, when the server closes,
 * or after `STREAM_TIME`.
 */
class ChangeStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #changes: AsyncIterator<CallChange, undefined>;
  readonly #ended: () => void;
  readonly #end: Deadline;
  readonly #deadlines: Deadlines;
  #keepAlive: Deadline | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #isOver = false;

  constructor(
    changes: AsyncIterator<CallChange, undefined>,
    deadlines: Deadlines,
    ended: () => void,
  ) {
    this.#changes = changes;
    this.#deadlines = deadlines;
    this.#ended = ended;
    // API-1
    this.#end = deadlines.add(STREAM_TIME, () => this.end());
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
        // The headers reach the reader with the first bytes.
        this.#send("retry: 1000\n\n");
        this.#stayOpen();
      },
      // API-2: the next change is taken when the reader wants it.
      pull: async () => {
        const { done, value } = await this.#changes.next();
        if (done) this.end();
        else this.#send(`event: change\ndata: ${JSON.stringify(value)}\n\n`);
      },
      cancel: () => this.end(),
    });
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end.cancel();
    this.#keepAlive?.cancel();
    void this.#changes.return?.();
    this.#ended();
    try {
      this.#controller.close();
    } catch {
      // The reader has left.
    }
  }

  #send(text: string): void {
    if (!this.#isOver) this.#controller.enqueue(Buffer.from(text));
  }

  #stayOpen(): void {
    this.#keepAlive = this.#deadlines.add(KEEP_ALIVE_EVERY, () => {
      // A reader that takes nothing needs no comments.
      if ((this.#controller.desiredSize ?? 0) > 0) this.#send(KEEP_ALIVE);
      if (!this.#isOver) this.#stayOpen();
    });
  }
}

class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

function missing(id: string): never {
  throw new CallActionError(id, "find", "not_found", "there is no such call", "list the calls");
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refused(400, "Cannot read the path: its escapes are not valid; encode it again");
  }
}

function filterIn(query: URLSearchParams): CallFilter {
  const states = query.get("state")?.split(",").filter((state) => state !== "");
  const olderThan = numberIn(query, "olderThan");
  const limit = numberIn(query, "limit");
  const door = oneOf(query, "door", DOOR_NAMES) as Door | undefined;
  const order = oneOf(query, "order", ORDERS) as CallFilter["order"];
  for (const state of states ?? []) check("state", state, STATES);
  return {
    ...textIn(query, "tool"),
    ...textIn(query, "principal"),
    ...textIn(query, "client"),
    ...textIn(query, "after"),
    ...(states && states.length > 0 && { state: states as CallState[] }),
    ...(door !== undefined && { door }),
    ...(order !== undefined && { order }),
    ...(olderThan !== undefined && { olderThan }),
    ...(limit !== undefined && { limit }),
  };
}

function textIn(query: URLSearchParams, name: string): { [name: string]: string } {
  const value = query.get(name);
  return value === null ? {} : { [name]: value };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Refused(400, `Cannot read "${name}": it is not a whole number; correct the query`);
}

function oneOf(query: URLSearchParams, name: string, known: readonly string[]): string | undefined {
  const value = query.get(name) ?? undefined;
  if (value !== undefined) check(name, value, known);
  return value;
}

function check(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw new Refused(
    400,
    `Cannot read "${name}": it is not one of ${known.join(", ")}; correct the query`,
  );
}

/** Returns the JSON object in a body. An empty body counts as `{}`. */
async function bodyOf(request: Request): Promise<JsonObject> {
  const type = request.headers.get("content-type") ?? "";
  const text = await textOf(request);
  if (text === "") return {};
  // A form of another origin cannot send this type.
  if (!/^application\/json\b/i.test(type)) {
    throw new Refused(400, "Cannot read the body: it is not JSON; send application/json");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused(400, "Cannot read the body: it is not valid JSON; correct it");
  }
  if (!isObject(value)) {
    throw new Refused(400, "Cannot read the body: it is not an object; send one");
  }
  return value as JsonObject;
}

async function textOf(request: Request): Promise<string> {
  const tooLarge = (): never => {
    throw new Refused(400, `Cannot read the body: it exceeds ${MAX_BODY} bytes; send less`);
  };
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY) tooLarge();
  const bytes = await readAtMost(request.body, MAX_BODY);
  return bytes ? Buffer.from(bytes).toString() : tooLarge();
}

function isAnswer(answer: JsonObject): answer is JsonObject & OperatorAnswer {
  const { action, content, ...more } = answer;
  return (action === "accept" || action === "decline" || action === "cancel") &&
    (content === undefined || isObject(content)) && Object.keys(more).length === 0;
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...COMMON, "content-type": "application/json" },
  });
}

function refusal(status: number, message: string): Response {
  return json({ error: { code: status, message } }, status);
}
