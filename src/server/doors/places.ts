/**
 * The pages on which people answer the questions of calls. A call has one page, which shows one
 * question after another.
 *
 * PLACE-1  The URL of a page contains the id of its call, encrypted. After a restart, the URL is
 *          still valid if the call is durable and the server has the same key and port.
 * PLACE-2  A page is open from its first question until a while after the end of its call.
 */
import { action, type Operation, until } from "effection";
import { canElicitUrl } from "../../ask/elicit.ts";
import { type StartedOperation, startOperation } from "../../lib/start-operation.ts";
import type { JsonObject } from "../../model/content.ts";
import type { Door, ElicitFormParams, ElicitRequest } from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import { schemaOf } from "../../schema/schema.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { Page } from "../../tool/site.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import { askingPage } from "../asking-page.ts";
import type { ServerCore } from "../core.ts";
import { forgetBeside, isBeside } from "./travel.ts";
import type { AnswerOutcome, AskedQuestion, AskingPlace, ClosedReason } from "./types.ts";

/** Milliseconds for which a page stays open after the end of its call. */
const LINGER = 60_000;
const CONTEXT = "asking page";
const PATH = /\/pages\/ask_([\w-]+)/;

interface OpenPlace {
  readonly name: string;
  page?: Page;
  opening?: StartedOperation<Page>;
  /**
   * Questions whose page the client has agreed to open, each with the function to call after the
   * answer.
   */
  readonly visited: Map<string, (() => void) | undefined>;
}

export class AskingPlaces {
  readonly #core: ServerCore;
  /** Open places by the id of their session. */
  readonly #places = new Map<string, OpenPlace>();
  readonly open: ReadonlyMap<string, unknown> = this.#places;

  constructor(core: ServerCore) {
    this.#core = core;
  }

  /** The URL of a session's page. Undefined while the page is being opened; see `isOpening`. */
  urlOf(session: LiveToolSession): string | undefined {
    const place = this.#places.get(session.id) ??
      this.#open(session.id, session.principal, this.#nameOf(session));
    return place.page?.url;
  }

  isOpening({ id }: LiveToolSession): boolean {
    return this.#places.get(id)?.opening !== undefined;
  }

  /** Called when the client has agreed to open the page of a question. */
  visit({ id }: LiveToolSession, requestId: string, answered?: () => void): void {
    this.#places.get(id)?.visited.set(requestId, answered);
  }

  /** Called when the person has answered a question on its page. */
  answered(sessionId: string, requestId: string): void {
    const { visited } = this.#places.get(sessionId) ?? {};
    visited?.get(requestId)?.();
    // A second answer is ignored.
    if (visited?.has(requestId)) visited.set(requestId, undefined);
  }

  /** True if the client has agreed to open the page of a question. */
  isVisited({ id }: LiveToolSession, requestId: string): boolean {
    return this.#places.get(id)?.visited.has(requestId) ?? false;
  }

  /** Opens the page at a path again, after a restart or after it was closed (PLACE-1). */
  async reopen(path: string): Promise<void> {
    const [, sealed = ""] = PATH.exec(path) ?? [];
    const named = sealed && this.#core.registry.sealer.open(sealed, CONTEXT);
    if (!named) return;
    const [sessionId = "", principal = ""] = named.split("\0");
    if (this.#places.has(sessionId)) return;
    const session = await this.#core.registry.lookup(sessionId);
    if (!session || session.principal !== principal) return;
    const { opening } = this.#open(sessionId, principal, `ask_${sealed}`);
    await opening?.ended();
    if (session.outcome) this.ended(session);
  }

  /** Called with each session that has ended (PLACE-2). */
  ended(session: LiveToolSession): void {
    const place = this.#places.get(session.id);
    if (!place) return;
    this.#core.deadlines.add(LINGER, () => {
      if (this.#places.get(session.id) === place) this.#places.delete(session.id);
      place.opening?.halt();
      place.page?.close();
      forgetBeside(session);
    });
  }

  #nameOf({ id, principal }: LiveToolSession): string {
    return `ask_${this.#core.registry.sealer.seal(`${id}\0${principal}`, CONTEXT)}`;
  }

  #open(sessionId: string, principal: string, name: string): OpenPlace {
    const place: OpenPlace = { name, visited: new Map() };
    this.#places.set(sessionId, place);
    const { pages, registry, deadlines } = this.#core;
    const url = () => place.page?.url ?? "http://localhost/";
    const show = askingPage(new SessionPlace(this.#core, sessionId), { url, deadlines });
    const respond = function* (request: Request): Operation<Response> {
      // Load the session: it may have left memory while it waited for the answer.
      const found = registry.lookup(sessionId);
      if (found instanceof Promise) yield* until(found);
      return yield* show(request);
    };
    const owner = async () => {
      const found = await registry.lookup(sessionId);
      return found?.tool;
    };
    const opening = startOperation(
      registry.scope,
      () => pages.open({ respond, owner, isForPerson: true }, principal, name),
    );
    const opened = ({ outcome }: StartedOperation<Page>) => {
      delete place.opening;
      if (outcome?.type === "returned") this.#opened(sessionId, place, outcome.value);
      else this.#failed(sessionId, place);
    };
    if (opening.outcome) {
      if (opening.outcome.type === "returned") {
        this.#opened(sessionId, place, opening.outcome.value);
      } // Wait for a microtask: the run must not continue while a reader reads its log.
      else queueMicrotask(() => this.#failed(sessionId, place));
    } else {
      place.opening = opening;
      void opening.ended().then(() => {
        opened(opening);
        registry.find(sessionId)?.log.stir();
      });
    }
    return place;
  }

  #opened(sessionId: string, place: OpenPlace, page: Page): void {
    place.page = page;
    const { openBrowser, pages, registry } = this.#core;
    const session = registry.find(sessionId);
    if (!openBrowser || !pages.local || !session) return;
    const [request] = questionsAtDoor(session, "page");
    // Do not open a browser if the question was moved here because the client refused it without
    // asking.
    if (!request || request.moved) return;
    if (isBeside(session, request) || !canElicitUrl(session.client)) openBrowser(page.url);
  }

  /** Called when the page cannot be opened. Its questions are asked at the next door. */
  #failed(sessionId: string, place: OpenPlace): void {
    if (this.#places.get(sessionId) === place) this.#places.delete(sessionId);
    const session = this.#core.registry.find(sessionId);
    if (!session || session.outcome) return;
    const error = { code: INTERNAL_ERROR, message: "the page could not be opened" };
    session.respondAll(
      questionsAtDoor(session, "page").map(({ id: requestId }) => ({
        requestId,
        response: { error },
        via: "page",
        closed: true,
      })),
    );
  }
}

/** The open questions of a session that are asked at a door. */
export function questionsAtDoor(session: LiveToolSession, door: Door): ElicitRequest[] {
  return session.openRequests().filter((request): request is ElicitRequest =>
    request.type === "elicit_request" && request.params.mode === "form" &&
    (request.door === door || door === "page" && isBeside(session, request))
  );
}

/**
 * False for a question that needs a sign-in, if the visitors of the page do not sign in. The
 * settings of the server may have changed since the question was asked.
 */
function isForVisitors({ tool, site, principal }: LiveToolSession, { place }: ElicitRequest) {
  return tool.elicits.get(place.key)?.by !== "signed-in" || site.doors.canSignIn?.(principal);
}

/** Answers a question that is asked at a door. An invalid answer is not passed to the tool. */
export function answerQuestion(
  session: LiveToolSession,
  door: "page" | "app",
  id: string,
  action: "accept" | "decline" | "cancel",
  content?: JsonObject,
): AnswerOutcome {
  const response = { action, ...(action === "accept" && { content: content ?? {} }) };
  const { doors } = session.site;
  const by = door === "page" && doors.canSignIn?.(session.principal)
    ? session.principal
    : undefined;
  const respond = () => session.respondAll([{ requestId: id, response, via: door, by }])[0]!;
  const request = questionsAtDoor(session, door).find((one) => one.id === id);
  if (!request || !isForVisitors(session, request)) {
    const reason = closedWhy(session, id);
    // A view may send its answer again, because it did not get the reply.
    const isRepeated = reason === "answered" && respond() === "repeated";
    return isRepeated ? { kind: "accepted" } : { kind: "closed", reason };
  }
  if (action === "accept") {
    const { requestedSchema } = request.params as ElicitFormParams;
    const parsed = schemaOf(requestedSchema).parse(content ?? {});
    if (!parsed.ok) {
      const problems = parsed.issues.map(({ path, message }) => ({ field: path, message }));
      return { kind: "invalid", problems };
    }
  }
  switch (respond()) {
    case "accepted":
    case "repeated":
      return { kind: "accepted" };
    default:
      return { kind: "closed", reason: closedWhy(session, id) };
  }
}

/** The questions of one session, for its page. */
class SessionPlace implements AskingPlace {
  readonly #core: ServerCore;
  readonly #sessionId: string;

  constructor(core: ServerCore, sessionId: string) {
    this.#core = core;
    this.#sessionId = sessionId;
  }

  get #session(): LiveToolSession | undefined {
    return this.#core.registry.find(this.#sessionId);
  }

  current(): AskedQuestion | { readonly ended: "finished" | "waiting" | "gone" } {
    const session = this.#session;
    if (!session || session.outcome?.status === "cancelled") return { ended: "gone" };
    if (session.outcome) return { ended: "finished" };
    const [request] = shownOnPage(session);
    return request ? asked(session, request) : { ended: "waiting" };
  }

  find(id: string): AskedQuestion | { readonly closed: ClosedReason } {
    const session = this.#session;
    if (!session) return { closed: "ended" };
    const request = shownOnPage(session).find((one) => one.id === id);
    return request ? asked(session, request) : { closed: closedWhy(session, id) };
  }

  answer(
    id: string,
    action: "accept" | "decline" | "cancel",
    content?: JsonObject,
  ): AnswerOutcome {
    const session = this.#session;
    if (!session) return { kind: "closed", reason: "ended" };
    const outcome = answerQuestion(session, "page", id, action, content);
    if (outcome.kind === "accepted") this.#core.places.answered(this.#sessionId, id);
    return outcome;
  }

  *changed(): Operation<void> {
    const session = this.#session;
    if (session) yield* action<void>((resolve) => session.log.watch(resolve));
  }
}

/** The open questions that a session's page shows to its visitors, one after another. */
function shownOnPage(session: LiveToolSession): ElicitRequest[] {
  return questionsAtDoor(session, "page").filter((request) => isForVisitors(session, request));
}

function asked({ client, tool }: LiveToolSession, request: ElicitRequest): AskedQuestion {
  const { title } = tool as FinalizedMcpTool;
  const { message, requestedSchema } = request.params as ElicitFormParams;
  return {
    id: request.id,
    key: request.place.key,
    tool: { name: tool.name, ...(title !== undefined && { title }) },
    ...(client.name !== undefined && { client: client.name }),
    message,
    requestedSchema,
    sensitive: request.sensitive ?? [],
  };
}

function closedWhy({ log, outcome }: LiveToolSession, id: string): ClosedReason {
  const event = log.findLast((event) =>
    (event.type === "answer" || event.type === "withdrawn") && event.requestId === id
  );
  if (event?.type === "answer") return "answered";
  if (event?.type === "withdrawn") return event.reason === "timeout" ? "expired" : "withdrawn";
  return outcome ? "ended" : "withdrawn";
}
