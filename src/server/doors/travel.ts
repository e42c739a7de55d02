/** Decides which open questions the reply to a request contains, and what happens to the others. */
import { canElicitForm, canElicitUrl } from "../../ask/elicit.ts";
import type {
  ClientAnswer,
  ClientInfo,
  Door,
  ElicitRequest,
  SampleRequest,
  ToolSessionRequest,
} from "../../model/events.ts";
import type { QuestionAnswer } from "../../session/questions.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { ServerCore } from "../core.ts";

/**
 * How many `input_required` results a request may get. Known clients give up at the tenth. Before
 * that, the request ends with a deferral, and the count starts again.
 */
export const MAX_ROUNDS = 9;

/** Milliseconds that a request waits for a page to open. */
const OPENING = 5_000;

/** Milliseconds for which a request waits for the first request from the view of its call. */
const CHECK_IN = 2_000;

/** True if a request of this client can carry a question to the person or the model. */
export function travels(
  core: ServerCore,
  session: LiveToolSession,
  request: ToolSessionRequest,
  client: ClientInfo,
): boolean {
  const { sampling, roots } = client.capabilities;
  switch (request.type) {
    case "sample_request":
      if (request.by === "caller") return false;
      return request.params.tools ? sampling?.tools !== undefined : sampling !== undefined;
    case "roots_request":
      return roots !== undefined;
    case "elicit_request":
      if (request.params.mode === "url") return canElicitUrl(client);
      switch (request.door ?? "form") {
        case "form":
          return canElicitForm(client) && !isBeside(session, request);
        case "page":
          return canElicitUrl(client) && !core.places.isVisited(session, request.id) &&
            core.places.urlOf(session) !== undefined;
        default:
          return false;
      }
  }
}

/** True if the model that called the tool answers a question itself. */
export function isForCaller(request: ToolSessionRequest): request is SampleRequest {
  return request.type === "sample_request" && request.by === "caller";
}

/** The open questions that the reply to a request of this client can contain. */
export function travelling(
  core: ServerCore,
  session: LiveToolSession,
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): readonly ToolSessionRequest[] {
  const found: ToolSessionRequest[] = [];
  for (const request of open) if (travels(core, session, request, client)) found.push(request);
  return found;
}

/** The question in the form in which it is sent. A question on a page is sent as the page's URL. */
export function asSent<R extends ToolSessionRequest>(
  core: ServerCore,
  session: LiveToolSession,
  request: R,
): R {
  if (request.type !== "elicit_request" || request.door !== "page") return request;
  if (request.params.mode === "url") return request;
  const { id: elicitationId, params: { message } } = request;
  const url = core.places.urlOf(session)!;
  return { ...request, params: { mode: "url", message, url, elicitationId } };
}

/**
 * The answer to a question, from the response of a client. Undefined if the question stays open: the
 * person has agreed to open a page, or the question is asked at another door. `answered` is called
 * when the person answers on that page.
 */
export function clientAnswer(
  core: ServerCore,
  session: LiveToolSession,
  request: ToolSessionRequest,
  response: ClientAnswer,
  answered?: () => void,
): QuestionAnswer | undefined {
  const requestId = request.id;
  if (request.type !== "elicit_request" || request.params.mode === "url") {
    return { requestId, response };
  }
  switch (request.door ?? "form") {
    case "form":
      return { requestId, response };
    case "page": {
      const { action } = response as { action?: unknown };
      if (action === "decline" || action === "cancel") return { requestId, response };
      core.places.visit(session, requestId, answered);
      return undefined;
    }
    default:
      return undefined;
  }
}

/**
 * The door of a question for a client. If the question was meant for a form, and the client of the
 * current request has no forms, chooses another door.
 */
export function doorOf(
  session: LiveToolSession,
  request: ElicitRequest,
  client: ClientInfo,
): Door | undefined {
  if (isBeside(session, request)) return "page";
  const door = request.door ?? "form";
  if (door !== "form" || request.params.mode === "url" || canElicitForm(client)) return door;
  const form = session.tool.elicits.get(request.place.key);
  if (!form) return undefined;
  const { principal, tool } = session;
  const next = session.site.doors.choose({ client, principal, tool }, form, ["form"], false);
  // A page shows only questions that were asked for a page.
  return next === "page" || next === "app" ? undefined : next;
}

/** True if a call with these open questions can continue after its request ends with a deferral. */
export function canDefer(
  session: LiveToolSession,
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): boolean {
  return open.some((request) =>
    isForCaller(request) || request.type === "elicit_request" && request.params.mode === "form" &&
      doorOf(session, request, client) !== undefined
  );
}

/**
 * The forms that are also shown on a page, because nobody answered them: their ids, by server and
 * session. They are not kept in the session, because a session may leave memory.
 */
const beside = new WeakMap<object, Map<string, Set<string>>>();

/** Shows a form on a page too. The first answer counts. */
export function showBeside({ id: sessionId, site }: LiveToolSession, { id }: ElicitRequest): void {
  const sessions = beside.get(site) ?? new Map<string, Set<string>>();
  beside.set(site, sessions);
  sessions.set(sessionId, (sessions.get(sessionId) ?? new Set<string>()).add(id));
}

/** True if a form is also shown on a page. */
export function isBeside(
  { id: sessionId, site }: LiveToolSession,
  { id }: { id: string },
): boolean {
  return beside.get(site)?.get(sessionId)?.has(id) ?? false;
}

export function forgetBeside({ id, site }: LiveToolSession): void {
  beside.get(site)?.delete(id);
}

/**
 * How long a request waits before it ends with a deferral, in milliseconds. `continues` is true for
 * `continue_call`.
 */
export function holdTime(
  core: ServerCore,
  session: LiveToolSession,
  client: ClientInfo,
  continues: boolean,
): number {
  let time = 0;
  const open = session.openRequests();
  if (travelling(core, session, open, client).length > 0) return 0;
  for (const request of open) {
    if (isForCaller(request)) return 0;
    if (request.type !== "elicit_request" || request.params.mode === "url") continue;
    switch (doorOf(session, request, client)) {
      case "model":
        // The model has to ask the person, so waiting does not help.
        return 0;
      case "app":
        time = continues || core.apps.hasView(session) ? core.askWait : Math.max(time, CHECK_IN);
        break;
      case "page": {
        core.places.urlOf(session);
        const isShown = continues || core.places.isVisited(session, request.id);
        time = core.places.isOpening(session) ? OPENING : isShown ? core.askWait : time;
      }
    }
  }
  return time;
}
