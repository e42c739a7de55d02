/** The tool `continue_call`, with which a model continues a deferred call. */
import { isObject } from "../../lib/json.ts";
import { type JsonObject, text } from "../../model/content.ts";
import type {
  AnswerOutcome,
  CallResult,
  ClientInfo,
  ElicitRequest,
  SampleRequest,
  SampleResponse,
  ToolResult,
  ToolSessionEvent,
  ToolSessionRequest,
} from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { CheckedCaller } from "../access.ts";
import type { ServerCore } from "../core.ts";
import { defer } from "./deferral.ts";
import { readModelAnswer } from "./describe-form.ts";
import { ANSWER_CALL, CONTINUE_CALL } from "./door-tools.ts";
import { questionsAtDoor } from "./places.ts";
import { openSecret, openTicket, questionNumber, type Ticket } from "./tickets.ts";
import { doorOf } from "./travel.ts";

/** The ticket in a request for `continue_call`. Undefined if the request has no valid ticket. */
export function ticketIn(
  { registry, deadlines }: ServerCore,
  { name, arguments: args }: JsonObject,
  principal: string,
): Ticket | undefined {
  if (!isObject(args)) return undefined;
  if (name === ANSWER_CALL.name && args.secret !== undefined) {
    return openSecret(registry.sealer, args.secret, principal);
  }
  if (name !== CONTINUE_CALL.name && name !== ANSWER_CALL.name) return undefined;
  return openTicket(registry.sealer, args.ticket, principal, deadlines.now());
}

/** The result of a `continue_call`: reply now, or wait for a run. */
export type Continuation =
  | { readonly type: "reply"; readonly result: ToolResult }
  /** `after` is the LSN after which the request reads the log. */
  | { readonly type: "wait"; readonly session: LiveToolSession; readonly after: number };

/** Handles a call of `continue_call`. The session must already be in memory, if it still exists. */
export function continueCall(
  core: ServerCore,
  args: JsonObject,
  principal: string,
  client: ClientInfo,
  caller: CheckedCaller,
): Continuation {
  const { registry, deadlines } = core;
  const { ticket, key, answer, cancel } = args;
  const opened = openTicket(registry.sealer, ticket, principal, deadlines.now());
  const session = opened && registry.find(opened.sessionId);
  if (!session || session.principal !== principal || session.log.lastLSN < opened.lsn) {
    return failure(
      "Cannot continue the call: the ticket is not valid, or the call no longer exists; call the tool again",
    );
  }
  core.access.check(session.tool, caller);
  if (cancel === true) {
    if (!session.outcome) session.halt("cancelled by the model", "caller");
    return { type: "reply", result: { content: [text("The call is cancelled.")] } };
  }
  const after = lastRead(session);
  if (!session.outcome) session.defer();
  if (!session.outcome && !isGiven(answer)) leaveUnseenView(core, session, after);
  if (isGiven(answer)) {
    session.log.awaitReader(after);
    const problem = takeAnswer(session, opened, key, answer, client);
    if (problem !== undefined) {
      session.log.expectNobody();
      return failure(problem, session.outcome ? undefined : defer(core, session, client));
    }
  }
  return { type: "wait", session, after };
}

/** True if a request has an answer. Models may send an empty answer instead of none. */
function isGiven(answer: unknown): boolean {
  return answer !== undefined && answer !== null && answer !== "";
}

/** If nobody sees the view of a call, asks its questions at the next door, if there is one. */
function leaveUnseenView(core: ServerCore, session: LiveToolSession, after: number): void {
  const asked = questionsAtDoor(session, "app");
  if (asked.length === 0 || !core.apps.isUnseen(session)) return;
  const { client, principal, tool } = session;
  const hasNext = asked.every(({ place: { key } }) => {
    const form = tool.elicits.get(key);
    const call = { client, principal, tool };
    return form && core.pages.doors.choose(call, form, ["form", "app"], false) !== undefined;
  });
  if (!hasNext) return;
  session.log.awaitReader(after);
  const error = { code: INTERNAL_ERROR, message: "no view has shown the question" };
  session.respondAll(
    asked.map(({ id: requestId }) => ({
      requestId,
      response: { error },
      via: "app",
      closed: true,
    })),
  );
}

/**
 * The LSN after which a request that continues a run reads the log, so that it gets only new
 * events.
 */
export function lastRead({ log: { lastLSN }, outcome }: LiveToolSession): number {
  return outcome ? lastLSN - 1 : lastLSN;
}

function failure(problem: string, state?: CallResult): Continuation {
  const { content = [], structuredContent } = (state ?? {}) as Partial<ToolResult>;
  return {
    type: "reply",
    result: {
      content: [text(problem), ...content],
      ...(structuredContent && {
        structuredContent: {
          ...structuredContent,
          message: `${problem}\n\n${structuredContent.message}`,
        },
      }),
      isError: true,
    },
  };
}

/** Passes an answer to its question. Returns an error message if that is not possible. */
function takeAnswer(
  session: LiveToolSession,
  ticket: Ticket,
  key: unknown,
  answer: unknown,
  client: ClientInfo,
): string | undefined {
  const meant = questionsAt(session, ticket).filter(({ name, place }) =>
    key === undefined || name === key || place.key === key
  );
  const atModel = meant.filter((request) =>
    request.type === "sample_request" ||
    (doorOf(session, request, client) ?? "form") === "model"
  );
  const [request, another] = atModel.length > 0 ? atModel : meant;
  if (!request) {
    const named = key === undefined ? "" : ` "${String(key)}"`;
    return `Cannot accept the answer: no question${named} was open; read the text below`;
  }
  if (another && key === undefined) {
    const keys = meant.map(({ name }) => `"${name}"`).join(", ");
    return `Cannot accept the answer: several questions are open (${keys}); send the key of one of them`;
  }
  if (atModel.length === 0) {
    return "Cannot accept the answer: the person answers this question elsewhere; call continue_call without an answer";
  }
  if (request.type === "sample_request") {
    const said = typeof answer === "string" ? answer : JSON.stringify(answer);
    const response: SampleResponse = {
      role: "assistant",
      content: { type: "text", text: said },
      model: client.name ?? "the caller",
    };
    return refusal(session.respond(request.id, response, "caller"));
  }
  const response = request.params.mode === "form"
    ? readModelAnswer(request.params.requestedSchema, answer)
    : undefined;
  if (!response) {
    return "Cannot accept the answer: it is not an object with the fields of the question; send such an object";
  }
  return refusal(session.respond(request.id, response, "model"));
}

/** Returns an error message if an answer was not accepted. */
function refusal(outcome: AnswerOutcome): string | undefined {
  switch (outcome) {
    case "accepted":
    case "repeated":
      return undefined;
    case "conflicting":
      return "Cannot accept the answer: this question already has a different answer; follow the text below";
    default:
      return "Cannot accept the answer: the question is no longer open; follow the text below";
  }
}

type AskedRequest = ElicitRequest | SampleRequest;

/**
 * The questions to the person that were open when a ticket was issued. Only these accept the answer:
 * a delayed answer must not reach a later question.
 */
function questionsAt(session: LiveToolSession, { lsn, newest }: Ticket): AskedRequest[] {
  const { log } = session;
  const asked = new Map<string, AskedRequest>();
  // The log may no longer contain questions that are still open.
  const upTo = newest ?? (lsn >= log.firstLSN - 1 ? Infinity : 0);
  for (const request of session.openRequests()) {
    if (isForAnswer(request) && questionNumber(request) <= upTo) asked.set(request.id, request);
  }
  for (const event of log.after(log.firstLSN - 1)) {
    if (event.lsn <= lsn) {
      if (isForAnswer(event)) asked.set(event.id, event);
      else if (event.type === "answer" || event.type === "withdrawn") asked.delete(event.requestId);
    } else if (isForAnswer(event)) asked.delete(event.id);
  }
  return [...asked.values()];
}

/** True for questions that the model answers, or asks the person. */
function isForAnswer(event: ToolSessionEvent | ToolSessionRequest): event is AskedRequest {
  return event.type === "elicit_request" ||
    event.type === "sample_request" && event.by === "caller";
}
