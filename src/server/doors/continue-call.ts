/** The tool `continue_call`, with which a model continues a deferred call. */
import { isObject } from "../../lib/json.ts";
import { type JsonObject, text } from "../../model/content.ts";
import type {
  CallResult,
  ClientInfo,
  ToolResult,
  ToolSessionEvent,
  ToolSessionOutcome,
} from "../../model/events.ts";
import { objectSchema, schemaReader } from "../../schema/lazy.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import type { CheckedCaller } from "../access.ts";
import type { Catalog } from "../catalog.ts";
import type { ServerCore } from "../core.ts";
import { defer, mayDefer } from "./deferral.ts";
import { readModelAnswer } from "./describe-form.ts";
import { openTicket, type Ticket } from "./tickets.ts";
import { doorOf } from "./travel.ts";

export const CONTINUE_CALL: FinalizedMcpTool = doorTool(
  "continue_call",
  "Continues a tool call that waits for the person. Use it only if a result told you to, with " +
    "the ticket from that result. It returns the result of the tool, or the next question.",
  {
    type: "object",
    properties: {
      ticket: { type: "string", description: "The ticket from the last result" },
      key: { type: "string", description: "Which question is answered, if several are open" },
      answer: {
        anyOf: [{ type: "object" }, { type: "string" }, { type: "number" }, { type: "boolean" }],
        description: "The person's own answer: an object with the fields of the question, or " +
          '"decline". Only if the result asks you for it.',
      },
      cancel: { type: "boolean", description: "True to end the call without a result" },
    },
    required: ["ticket"],
  },
);

const none: readonly FinalizedMcpTool[] = [];
const all: readonly FinalizedMcpTool[] = [CONTINUE_CALL];
const known = new WeakMap<Catalog, { readonly version: number; readonly asks: boolean }>();

/** The tools that continue calls. The server offers them if a tool or prompt may ask questions. */
export function doorTools(catalog: Catalog): readonly FinalizedMcpTool[] {
  let found = known.get(catalog);
  if (found?.version !== catalog.version) {
    const served = [catalog.tools, catalog.prompts].flatMap((shelf): Definition[] => [
      ...shelf.values(),
    ]);
    found = { version: catalog.version, asks: served.some(mayDefer) };
    known.set(catalog, found);
  }
  return found.asks ? all : none;
}

function doorTool(name: string, description: string, parameters: JsonObject): FinalizedMcpTool {
  return {
    kind: "tool",
    name,
    description,
    parameters: objectSchema(parameters, "input"),
    annotations: { openWorldHint: false },
    elicits: new Map(),
    requires: {},
    limits: {},
    schemas: schemaReader,
    headerParameters: [],
    body: {
      type: "execute",
      *execute() {
        throw new TypeError(`Cannot run "${name}": only a server can run it; call it on a server`);
      },
    },
  };
}

/** The ticket in a request for `continue_call`. Undefined if the request has no valid ticket. */
export function ticketIn(
  { registry, deadlines }: ServerCore,
  { name, arguments: args }: JsonObject,
  principal: string,
): Ticket | undefined {
  if (name !== CONTINUE_CALL.name || !isObject(args)) return undefined;
  return openTicket(registry.sealer, args.ticket, principal, deadlines.now());
}

/** The result of a `continue_call`: reply now, or wait for a run. */
export type Continuation =
  | { readonly type: "reply"; readonly result: ToolResult }
  /** `after` is the LSN after which the request reads the log. */
  | { readonly type: "wait"; readonly session: LiveToolSession; readonly after: number };

/** Handles a call of `continue_call`. The caller must load the run into memory before. */
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
  const { lastLSN } = session.log;
  const after = session.outcome ? lastLSN - 1 : lastLSN;
  if (!session.outcome) session.defer();
  if (answer !== undefined && answer !== null && answer !== "") {
    session.log.awaitReader(after);
    const problem = takeAnswer(session, opened, key, answer, client);
    if (problem !== undefined) {
      session.log.expectNobody();
      return failure(problem, session.outcome ? undefined : defer(core, session, client));
    }
  }
  return { type: "wait", session, after };
}

/** The result of a run, for `continue_call`. The messages of a prompt become text. */
export function continuedResult(outcome: ToolSessionOutcome): ToolResult {
  if (outcome.status !== "completed") {
    const why = outcome.status === "failed"
      ? outcome.error.message
      : `Cannot finish the call: ${outcome.reason}; call the tool again`;
    return { content: [text(why)], isError: true };
  }
  const { result } = outcome;
  if ("content" in result) return result;
  if (!("messages" in result)) return { content: [] };
  return {
    content: result.messages.map(({ role, content }) =>
      content.type === "text" ? text(`${role}: ${content.text}`) : content
    ),
  };
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
  const meant = questionsAt(session, ticket.lsn).filter(({ name, place }) =>
    key === undefined || name === key || place.key === key
  );
  const atModel = meant.filter((request) =>
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
  const response = request.params.mode === "form"
    ? readModelAnswer(request.params.requestedSchema, answer)
    : undefined;
  if (!response) {
    return "Cannot accept the answer: it does not name the fields; send an object with the fields of the question";
  }
  switch (session.respond(request.id, response, "model")) {
    case "accepted":
    case "repeated":
      return undefined;
    case "conflicting":
      return "Cannot accept the answer: this question already has a different answer; follow the text below";
    default:
      return "Cannot accept the answer: the question is no longer open; follow the text below";
  }
}

type AskedEvent = Extract<ToolSessionEvent, { type: "elicit_request" }>;

/**
 * The questions to the person that were open at an LSN. Only these accept the answer: a delayed
 * answer must not reach a later question.
 */
function questionsAt(session: LiveToolSession, lsn: number): AskedEvent[] {
  const open = new Map<string, AskedEvent>();
  const { log } = session;
  for (const event of log.after(log.firstLSN - 1)) {
    if (event.lsn > lsn) break;
    if (event.type === "elicit_request") open.set(event.id, event);
    else if (event.type === "answer" || event.type === "withdrawn") open.delete(event.requestId);
  }
  return [...open.values()];
}
