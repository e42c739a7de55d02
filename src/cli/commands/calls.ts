/** `parley calls`: shows the calls of a server or a store, and answers, cancels and revives them. */
import { type Operation, race, scoped, sleep, until } from "effection";
import { isObject } from "../../lib/json.ts";
import { messageOf } from "../../lib/message-of.ts";
import type {
  CallDetail,
  CallFilter,
  CallPage,
  CallQuestion,
  CallState,
  OperatorAnswer,
} from "../../model/calls.ts";
import type { JsonObject } from "../../model/content.ts";
import type { Door } from "../../model/events.ts";
import { callLines, detailLines, eventLine, replayLines } from "../calls/shown.ts";
import { type CallSource, useStoredCalls } from "../calls/source.ts";
import type { Environment } from "../environment.ts";
import { FAILED, Problem, USAGE } from "../problem.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import { isTerminal, type Terminal } from "../terminal/terminal.ts";
import { visibleJson } from "../terminal/visible.ts";

export type CallsAction = "list" | "show" | "answer" | "cancel" | "revive" | "replay";

export interface CallsOptions {
  readonly url?: string;
  readonly header?: readonly string[];
  readonly store?: string;
  readonly watch?: boolean;
  readonly tools?: readonly string[];
  readonly tool?: string;
  readonly principal?: string;
  readonly client?: string;
  readonly state?: CallState;
  readonly door?: Door;
  readonly limit?: number;
  readonly question?: string;
  readonly content?: string;
  readonly decline?: boolean;
  readonly reason?: string;
  readonly json?: boolean;
}

/** Milliseconds for which changes are collected before the list is printed again. */
const PAUSE = 200;
/** Milliseconds until the next attempt, if the server ends a stream at once. */
const RECONNECT = 1_000;
/** Moves the cursor to the start of an empty screen. */
const CLEAR = "\x1b[2J\x1b[H";

/** How many events `parley calls show` prints at most: the last ones. */
const SHOWN_EVENTS = 100;

export function* calls(
  action: CallsAction,
  id: string | undefined,
  options: CallsOptions,
  environment: Environment,
): Operation<number> {
  const source = yield* useSource(action, options, environment);
  if (action === "list") return yield* list(source, options, environment);
  if (id === undefined) {
    throw new Problem(
      `Cannot ${action} a call: no id was given; take one from \`parley calls list\``,
      USAGE,
    );
  }
  switch (action) {
    case "show":
      return yield* show(source, id, options, environment);
    case "answer":
      return yield* answer(source, id, options, environment);
    case "replay":
      return yield* replay(source, id, options, environment);
    case "cancel": {
      const cancelled = yield* source.cancel(id, options.reason);
      const refused = `Cannot cancel "${id}": it has ended already; look at its outcome`;
      const done = `Cancelled ${id}.`;
      return told(environment, options, { cancelled }, done, cancelled ? undefined : refused);
    }
    case "revive": {
      const revived = yield* source.revive(id);
      const refused =
        `Cannot revive "${id}": it is not set aside; list the calls that are set aside with --state set-aside`;
      const done =
        `Revived ${id}. It continues when the server runs, or with the next request of its client.`;
      return told(environment, options, { revived }, done, revived ? undefined : refused);
    }
  }
}

function* useSource(
  action: CallsAction,
  options: CallsOptions,
  environment: Environment,
): Operation<CallSource> {
  const { store, tools = [] } = options;
  if (options.url !== undefined) {
    if (store !== undefined) {
      throw new Problem(
        "Cannot find calls: both --url and --store were given; choose one of them",
        USAGE,
      );
    }
    const { remoteCalls } = yield* until(import("../calls/remote.ts"));
    return remoteCalls(options.url, options.header ?? []);
  }
  if (store !== undefined) {
    const needsTools = action === "answer" || action === "show" || action === "replay";
    return yield* useStoredCalls(store, needsTools ? tools : undefined, environment);
  }
  throw new Problem(
    "Cannot find calls: neither a server nor a store was given; add --url or --store sqlite:PATH",
    USAGE,
  );
}

function* list(
  source: CallSource,
  options: CallsOptions,
  { terminal }: Environment,
): Operation<number> {
  const { tool, principal, client, state, door, limit } = options;
  const filter: CallFilter = {
    ...(tool !== undefined && { tool }),
    ...(principal !== undefined && { principal }),
    ...(client !== undefined && { client }),
    ...(state !== undefined && { state }),
    ...(door !== undefined && { door }),
    ...(limit !== undefined && { limit }),
  };
  if (options.watch) return yield* watch(source, filter, options, terminal);
  printPage(yield* source.list(filter), options, terminal);
  return 0;
}

/** Prints the list again after each change, until Ctrl-C or the end of the server. */
function* watch(
  source: CallSource,
  filter: CallFilter,
  options: CallsOptions,
  terminal: Terminal,
): Operation<number> {
  if (!source.changes) {
    throw new Problem(
      "Cannot watch a store: no server changes it; use --watch with --url",
      USAGE,
    );
  }
  const signals = yield* useSignals();
  const { changes } = source;
  return yield* race([
    (function* () {
      return exitCodeOf((yield* signals.next()).value);
    })(),
    (function* (): Operation<never> {
      for (;;) {
        // The server ends a stream from time to time. The next one begins with the whole list.
        const isEmpty = yield* scoped(function* () {
          const stream = yield* changes();
          for (let count = 0;; count++) {
            const page = yield* source.list(filter);
            if (isTerminal(1) && !options.json) terminal.print(CLEAR);
            printPage(page, options, terminal);
            if (!(yield* stream.next())) return count === 0;
            yield* sleep(PAUSE);
          }
        });
        if (isEmpty) yield* sleep(RECONNECT);
      }
    })(),
  ]);
}

function printPage(page: CallPage, { json, watch }: CallsOptions, terminal: Terminal): void {
  if (json) return terminal.print(watch ? visibleJson(page) : visibleJson(page, 2));
  if (page.calls.length === 0) {
    return terminal.note("There are no such calls.");
  }
  for (const line of callLines(page.calls, Date.now(), terminal.out)) terminal.print(line);
  const left = page.total - page.calls.length;
  if (left > 0) terminal.note(`There are ${left} more calls; add a filter, or --limit up to 500.`);
}

function* show(
  source: CallSource,
  id: string,
  { json }: CallsOptions,
  { terminal }: Environment,
): Operation<number> {
  const call = yield* found(source, id);
  const from = Math.max(call.firstLSN, call.lastLSN - SHOWN_EVENTS + 1);
  const window = yield* source.events(id, { from, limit: SHOWN_EVENTS });
  const events = window?.events ?? [];
  if (json) {
    terminal.print(visibleJson({ call, events }, 2));
    return 0;
  }
  for (const line of detailLines(call, Date.now(), terminal.out)) terminal.print(line);
  if (from > call.firstLSN) terminal.print(`The events before ${from} are left out.`);
  for (const event of events) terminal.print(eventLine(event, terminal.out));
  return 0;
}

function* answer(
  source: CallSource,
  id: string,
  options: CallsOptions,
  environment: Environment,
): Operation<number> {
  const call = yield* found(source, id);
  const question = questionIn(call, options.question);
  const given = yield* answerFor(question, options, environment);
  const outcome = yield* source.answer(id, question.id, given);
  const { key } = question;
  const isTaken = outcome === "accepted" || outcome === "repeated";
  const refused = `Cannot answer "${key}" of ${id}: the question is ${outcome}; look at the call`;
  const done = `Answered "${key}" of ${id}.`;
  return told(environment, options, { outcome }, done, isTaken ? undefined : refused);
}

/**
 * Prints the findings of a dry replay. The exit code is 0 only if the code does what is recorded.
 */
function* replay(
  source: CallSource,
  id: string,
  { json }: CallsOptions,
  { terminal }: Environment,
): Operation<number> {
  const result = yield* source.replay(id);
  if (json) terminal.print(visibleJson(result, 2));
  else for (const line of replayLines(result, terminal.out)) terminal.print(line);
  return result.verdict === "same" ? 0 : FAILED;
}

function* found(source: CallSource, id: string): Operation<CallDetail> {
  const call = yield* source.get(id);
  if (call) return call;
  throw new Problem(`Cannot find the call "${id}": there is none with this id; list the calls`);
}

/** The question with this key or id, or the only open question. */
function questionIn({ id, questions }: CallDetail, given: string | undefined): CallQuestion {
  const matching = given === undefined
    ? questions
    : questions.filter((question) => question.id === given || question.key === given);
  const [question, ...more] = matching;
  if (question && more.length === 0) return question;
  throw new Problem(
    question
      ? `Cannot answer the call "${id}": several questions are open; choose one with --question`
      : `Cannot answer the call "${id}": it has no such open question; look at it with \`parley calls show\``,
    USAGE,
  );
}

function* answerFor(
  { message = "", schema, sensitive = [], refused, key }: CallQuestion,
  { content, decline }: CallsOptions,
  { terminal }: Environment,
): Operation<OperatorAnswer> {
  if (decline) return { action: "decline" };
  if (content !== undefined) return { action: "accept", content: contentIn(content) };
  if (refused !== undefined || !schema) {
    throw new Problem(
      `Cannot answer "${key}": ${
        refused ?? "it has no form"
      }; let the person or the model that it asks answer it`,
    );
  }
  if (!terminal.interactive) {
    throw new Problem(
      `Cannot answer "${key}": there is no answer; add --content JSON or --decline, or run this in a terminal`,
      USAGE,
    );
  }
  const { askForm } = yield* until(import("../terminal/prompts/form.ts"));
  return yield* askForm({ mode: "form", message, requestedSchema: schema }, sensitive);
}

function contentIn(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Problem(
      `Cannot read --content: it is not JSON (${messageOf(error)}); quote it for your shell`,
      USAGE,
    );
  }
  if (isObject(value)) return value as JsonObject;
  throw new Problem('Cannot read --content: it is not an object; write it as {"field": …}', USAGE);
}

/** Prints the result of an action. `refused` is the sentence if the action was not possible. */
function told(
  { terminal }: Environment,
  { json }: CallsOptions,
  result: JsonObject,
  done: string,
  refused: string | undefined,
): number {
  if (json) terminal.print(visibleJson(result));
  else terminal.note(refused === undefined ? done : terminal.err.red(refused));
  return refused === undefined ? 0 : FAILED;
}
