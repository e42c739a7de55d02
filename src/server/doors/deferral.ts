/**
 * Deferrals. A deferral is a result that ends a request before its run has ended. It tells the
 * model what to ask the person, and how to continue the call.
 */
import { isObject } from "../../lib/json.ts";
import { type JsonObject, text } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import type {
  CallResult,
  ClientInfo,
  Door,
  ElicitFormParams,
  SampleRequest,
  ToolSessionRequest,
} from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import { ASK_META } from "../../ui/ask-state.ts";
import type { ServerCore } from "../core.ts";
import { askState } from "./call-state.ts";
import { describeForm, exampleAnswer } from "./describe-form.ts";
import { sealTicket, ticketFor } from "./tickets.ts";
import { doorOf, isForCaller, MAX_ROUNDS, travels } from "./travel.ts";

/** An open question in a deferral. */
interface WaitingQuestion {
  readonly key: string;
  readonly door: Door | "next";
  readonly message: string;
}

/** The schema of a deferral's structured content, which some clients show instead of the text. */
const WAITING: JsonObject = {
  type: "object",
  properties: {
    status: { const: "waiting" },
    ticket: { type: "string" },
    message: { type: "string" },
    questions: {
      type: "array",
      items: {
        type: "object",
        properties: {
          key: { type: "string" },
          door: { type: "string" },
          message: { type: "string" },
        },
        required: ["key", "door", "message"],
      },
    },
  },
  required: ["status", "ticket", "message"],
};

/** True if a deferral fits the output schema of a definition. */
export function fitsDeferral(tool: Definition): boolean {
  return (tool as FinalizedMcpTool).output === undefined || mayDefer(tool);
}

/**
 * Ends a call that would need another round, but whose output schema allows no deferral, because
 * the tool has not declared that it asks questions.
 */
export function tooManyRounds(session: LiveToolSession): CallResult {
  const problem = `tool "${session.toolName}" asked ${MAX_ROUNDS} times, and clients allow no more`;
  session.halt(problem);
  return {
    content: [
      text(
        `Cannot continue the call: ${problem}; declare .requires({ sampling: true }), or ask less often`,
      ),
    ],
    isError: true,
  };
}

/**
 * The error for a resource that asks a question. Resources have no deferrals, because a client
 * would store one as the content of the resource. The run stays, and the next read continues it.
 */
export function asksElsewhere(
  core: ServerCore,
  session: LiveToolSession,
  uri?: unknown,
): ProtocolError {
  const url =
    session.openRequests().some((request) =>
        request.type === "elicit_request" && request.door === "page"
      )
      ? core.places.urlOf(session)
      : undefined;
  const ticketed = url === undefined ? undefined : core.readings.defer(session, uri);
  const how = url === undefined ? "read it with a client that shows forms" : `answer at ${url}`;
  const again = ticketed === undefined ? "read it again" : `read ${ticketed}`;
  return new ProtocolError(
    INTERNAL_ERROR,
    `Cannot read resource "${session.toolName}": it asks the person first; ${how}, then ${again}`,
  );
}

const unions = new WeakMap<object, JsonObject>();

/** True if calls of a definition may end with a deferral. The output schema must allow that. */
export function mayDefer({ elicits, requires }: Pick<FinalizedMcpTool, "elicits" | "requires">) {
  return elicits.size > 0 || Boolean(requires.sampling);
}

/** The output schema of a tool whose calls may end with a deferral. */
export function withWaiting(output: JsonObject): JsonObject {
  let union = unions.get(output);
  if (!union) {
    const { $schema, $defs, ...own } = output;
    union = {
      ...($schema !== undefined && { $schema }),
      type: "object",
      anyOf: [own, WAITING],
      ...(isObject($defs) && { $defs }),
    };
    unions.set(output, union);
  }
  return union;
}

/**
 * Ends a request before its run: keeps the run, and returns the result for the request. `waited` is
 * true if the request has waited for an answer.
 */
export function defer(
  core: ServerCore,
  session: LiveToolSession,
  client: ClientInfo,
  waited = false,
): CallResult {
  const expires = core.deadlines.now() + core.registry.timeToLiveOf(session);
  session.defer();
  core.registry.promise(session, expires);
  core.registry.noteChange(session);
  const { principal, tool } = session;
  const ticket = sealTicket(core.registry.sealer, ticketFor(session, expires), principal);
  const open = session.openRequests();
  const questions = open.flatMap((request) => questionIn(core, session, request, client));
  const samples = open.filter(isForCaller);
  const message = instructions(tool, questions, samples, ticket, waited);
  if (tool.kind === "prompt") {
    return { messages: [{ role: "user", content: text(message) }] };
  }
  const listed = questions.map(({ key, door, message }) => ({ key, door, message }));
  return {
    content: [text(message)],
    structuredContent: { status: "waiting", ticket, message, questions: listed },
    ...(questions.some(({ door }) => door === "app") && {
      _meta: { [ASK_META]: { ...askState(core, session), ticket } },
    }),
  };
}

interface OpenQuestion extends WaitingQuestion {
  readonly requestedSchema: JsonObject;
  /** The page on which the person answers. */
  readonly url?: string | undefined;
}

function questionIn(
  core: ServerCore,
  session: LiveToolSession,
  request: ToolSessionRequest,
  client: ClientInfo,
): OpenQuestion[] {
  if (request.type !== "elicit_request" || request.params.mode !== "form") return [];
  const { message, requestedSchema } = request.params as ElicitFormParams;
  const door = travels(core, session, request, client)
    ? "next"
    : doorOf(session, request, client) ?? "next";
  const url = door === "page" ? core.places.urlOf(session) : undefined;
  return [{ key: request.name, door, message, requestedSchema, url }];
}

/** Writes the instructions for the model, in words that small models can follow. */
function instructions(
  { kind, name }: Definition,
  questions: readonly OpenQuestion[],
  samples: readonly SampleRequest[],
  ticket: string,
  waited: boolean,
): string {
  const bare = JSON.stringify({ ticket });
  const at = (door: OpenQuestion["door"]) => questions.filter((one) => one.door === door);
  const [model, page, app] = [at("model"), at("page"), at("app")];
  if (samples.length > 0) return forCaller(kind, name, samples, ticket);
  if (model.length > 0) return forModel(kind, name, model, ticket);
  if (page.length > 0) return forPage(kind, name, page, bare, waited);
  if (app.length > 0) {
    return `The ${kind} "${name}" is not finished: the person sees a form. End your turn now. ` +
      `When the person says that they have answered, call continue_call with ${bare}.`;
  }
  return `The ${kind} "${name}" is not finished. Call continue_call with ${bare} now, to get the next question.`;
}

function forPage(
  kind: string,
  name: string,
  questions: readonly OpenQuestion[],
  call: string,
  waited: boolean,
): string {
  const { url } = questions[0]!;
  if (url === undefined) {
    return `The ${kind} "${name}" is not finished: the page on which the person answers is being opened. ` +
      `Call continue_call with ${call} now; the link follows.`;
  }
  const asked = questions.map(({ message }) => message).join("\n\n");
  if (waited) {
    return `The ${kind} "${name}" still waits for the person, who answers on this page: ${url}\n\n` +
      `Tell the person so, and end your turn. ` +
      `Do not call continue_call again before the person says that they have answered; then call it with ${call}.`;
  }
  return `The ${kind} "${name}" is not finished: the person has to answer on a page. ` +
    `Show the person this link as it is: ${url}\n\nThe page asks: ${asked}\n\n` +
    `Then call continue_call with ${call}; it waits for the answer.`;
}

/** Asks the model that called the tool for its own answer. */
function forCaller(
  kind: string,
  name: string,
  samples: readonly SampleRequest[],
  ticket: string,
): string {
  const isOnly = samples.length === 1;
  const parts = samples.map(({ name: key, params: { systemPrompt, messages } }) => {
    const said = messages.map(({ role, content }) => {
      const words = content.map((block) => block.type === "text" ? block.text : `(${block.type})`);
      return `${role}: ${words.join("\n")}`;
    });
    const call = JSON.stringify({ ticket, ...(!isOnly && { key }), answer: "…" });
    return [
      ...isOnly ? [] : [`Request "${key}":`],
      ...systemPrompt === undefined ? [] : [`Instructions: ${systemPrompt}`],
      ...said,
      `Then call continue_call with your answer as text: ${call}`,
    ].join("\n\n");
  });
  return [
    `The ${kind} "${name}" is not finished: it asks you, the model. Answer yourself; do not ask the person.`,
    ...parts,
  ].join("\n\n");
}

function forModel(
  kind: string,
  name: string,
  questions: readonly OpenQuestion[],
  ticket: string,
): string {
  const isOnly = questions.length === 1;
  const parts = questions.map(({ key, message, requestedSchema }) => {
    const answer = exampleAnswer(requestedSchema);
    const call = JSON.stringify({ ticket, ...(!isOnly && { key }), answer });
    return `Question${isOnly ? "" : ` "${key}"`}: ${message}\n\nThe answer has these fields:\n${
      describeForm(requestedSchema)
    }\n\nThen call continue_call with the person's answer in place of this example: ${call}`;
  });
  return [
    `The ${kind} "${name}" is not finished: it waits for the person's answer. ` +
    `Ask the person ${isOnly ? "this question" : "these questions"}. Do not answer for them.`,
    ...parts,
    'If the person refuses to answer, send "decline" as the answer.',
  ].join("\n\n");
}
