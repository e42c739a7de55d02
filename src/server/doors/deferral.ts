/**
 * Deferrals. A deferral is a result that ends a request before its run has ended. It tells the
 * model what to ask the person, and how to continue the call.
 */
import { isObject } from "../../lib/json.ts";
import { type JsonObject, text } from "../../model/content.ts";
import type {
  CallResult,
  ClientInfo,
  Door,
  ElicitFormParams,
  ToolSessionRequest,
} from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import type { ServerCore } from "../core.ts";
import { describeForm, exampleAnswer } from "./describe-form.ts";
import { sealTicket } from "./tickets.ts";
import { doorOf, travels } from "./travel.ts";

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

/** Ends a request with a deferral. Keeps the run, and returns the result of the request. */
export function defer(core: ServerCore, session: LiveToolSession, client: ClientInfo): CallResult {
  const expires = core.deadlines.now() + core.registry.timeToLiveOf(session);
  session.defer();
  core.registry.promise(session, expires);
  core.registry.noteChange(session);
  return deferralOf(core, session, client, expires);
}

function deferralOf(
  core: ServerCore,
  session: LiveToolSession,
  client: ClientInfo,
  expires: number,
): CallResult {
  const { principal, id: sessionId, log } = session;
  const ticket = sealTicket(
    core.registry.sealer,
    { sessionId, lsn: log.lastLSN, expires },
    principal,
  );
  const open = session.openRequests();
  const questions = open.flatMap((request) => questionIn(session, request, client));
  const message = instructions(session, questions, ticket);
  if (session.tool.kind === "prompt") {
    return { messages: [{ role: "user", content: text(message) }] };
  }
  const listed = questions.map(({ key, door, message }) => ({ key, door, message }));
  return {
    content: [text(message)],
    structuredContent: { status: "waiting", ticket, message, questions: listed },
  };
}

interface AskedHere extends WaitingQuestion {
  readonly requestedSchema: JsonObject;
}

function questionIn(
  session: LiveToolSession,
  request: ToolSessionRequest,
  client: ClientInfo,
): AskedHere[] {
  if (request.type !== "elicit_request" || request.params.mode !== "form") return [];
  const { message, requestedSchema } = request.params as ElicitFormParams;
  const door = travels(request, client) ? "next" : doorOf(session, request, client) ?? "next";
  return [{ key: request.name, door, message, requestedSchema }];
}

function instructions(
  { tool: { kind, name } }: LiveToolSession,
  questions: readonly AskedHere[],
  ticket: string,
): string {
  const forModel = questions.filter(({ door }) => door === "model");
  const bare = JSON.stringify({ ticket });
  if (forModel.length === 0) {
    return `The ${kind} "${name}" is not finished. Call continue_call with ${bare} now; the next question follows.`;
  }
  const isOnly = forModel.length === 1;
  const parts = forModel.map(({ key, message, requestedSchema }) => {
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
