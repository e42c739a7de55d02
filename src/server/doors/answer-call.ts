/**
 * The tool `answer_call`, with which the view of a call shows and answers its questions.
 *
 * APPCALL-1  A view answers with a secret that models do not see. It can answer only questions that
 *            are asked at the door `app`.
 * APPCALL-2  A view can find its call by tool and arguments, but only among the calls of the same
 *            client session, the same channel, or the same named caller.
 */
import { isObject } from "../../lib/json.ts";
import { SharedMap } from "../../lib/shares.ts";
import { type JsonObject, text } from "../../model/content.ts";
import type { ToolResult } from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import { ASK_META, type AskState } from "../../ui/ask-state.ts";
import type { CheckedCaller } from "../access.ts";
import type { ServerCore } from "../core.ts";
import { canonical } from "../modern/request-state.ts";
import { askState, continuedResult } from "./call-state.ts";
import { answerQuestion } from "./places.ts";
import { openSecret, openTicket } from "./tickets.ts";

/** Where views look for their calls: a client session, a channel, or a named caller. */
export type ViewScope = object | string;

interface Expected {
  readonly session: LiveToolSession;
  readonly scope: ViewScope;
  readonly arguments: string;
}

/**
 * Maximum number of calls that views can find. Beyond it, the caller with the most calls loses its
 * oldest one.
 */
const MAX_EXPECTED = 1_000;

/** The calls of clients that show views. */
export class AppCalls {
  readonly #expected = new SharedMap<Expected>(MAX_EXPECTED);
  /** The calls that can be found, by the ids of their sessions. */
  readonly expected: { readonly size: number } = this.#expected;
  readonly #checkedIn = new WeakSet<LiveToolSession>();
  /** The calls for which the model has waited while no view had asked for them. */
  readonly #awaited = new WeakSet<LiveToolSession>();

  /** Remembers a call, so that its view can find it (APPCALL-2). */
  expect(session: LiveToolSession, args: unknown, scope: ViewScope): void {
    const expected = { session, scope, arguments: canonical(args) };
    this.#expected.set(holderOf(scope), session.id, expected);
  }

  ended(session: LiveToolSession): void {
    this.#expected.delete(session.id);
  }

  /** True if the view of a call has sent a request. */
  hasView(session: LiveToolSession): boolean {
    return this.#checkedIn.has(session);
  }

  /** Called when the view of a call has sent a request. */
  checkIn(session: LiveToolSession): void {
    this.#checkedIn.add(session);
  }

  /**
   * Called when the model waits for a call. True if the model waits for the second time, and no
   * view has asked for the call: the host shows no views, or its views cannot call tools.
   */
  isUnseen(session: LiveToolSession): boolean {
    if (this.#checkedIn.has(session)) return false;
    if (this.#awaited.has(session)) return true;
    this.#awaited.add(session);
    return false;
  }

  /** Finds the newest call of a view. */
  find(scope: ViewScope, tool: unknown, args: unknown): LiveToolSession | undefined {
    const wanted = args === undefined ? undefined : canonical(args);
    for (const one of [...this.#expected.of(holderOf(scope))].reverse()) {
      if (one.scope !== scope || tool !== undefined && one.session.toolName !== tool) continue;
      if (wanted !== undefined && one.arguments !== wanted) continue;
      this.#checkedIn.add(one.session);
      // Wake the request of the call: it now waits longer, because the person can answer in the
      // view.
      one.session.log.stir();
      return one.session;
    }
    return undefined;
  }
}

/** The caller for whom the calls of a scope count. Empty for all callers without a name. */
function holderOf(scope: ViewScope): string {
  return typeof scope === "string" ? scope : "";
}

const GONE =
  "Cannot show the question: the call has ended, or is not known here; call the tool again";

/**
 * Handles a request of a view. The session of its call must already be in memory, if it still
 * exists.
 */
export function answerCall(
  core: ServerCore,
  args: JsonObject,
  principal: string,
  scope: ViewScope | undefined,
  caller: CheckedCaller,
): ToolResult {
  const { registry, deadlines } = core;
  const { secret, answer, ticket, find } = args;
  if (isObject(find)) {
    const found = scope && core.apps.find(scope, find.tool, find.arguments);
    if (!found) return failed(GONE);
    core.access.check(found.tool, caller);
    return stateOf(core, found);
  }
  const opened = secret === undefined
    ? openTicket(registry.sealer, ticket, principal, deadlines.now())
    : openSecret(registry.sealer, secret, principal);
  const session = opened && registry.find(opened.sessionId);
  if (!session || session.principal !== principal) return failed(GONE);
  core.access.check(session.tool, caller);
  core.apps.checkIn(session);
  if (answer === undefined || secret === undefined) return stateOf(core, session);
  const { question, action, content } = isObject(answer) ? answer : {};
  if (action !== "accept" && action !== "decline" && action !== "cancel") {
    return failed("Cannot accept the answer: its action is unknown; use accept or decline");
  }
  const given = isObject(content) ? content : undefined;
  // APPCALL-1
  const outcome = answerQuestion(session, "app", String(question), action, given);
  switch (outcome.kind) {
    case "accepted":
      return stateOf(core, session);
    case "invalid":
      return stateOf(core, session, { problems: outcome.problems });
    case "closed":
      return failed(CLOSED[outcome.reason]);
  }
}

const CLOSED = {
  answered: "Cannot accept the answer: the question already has an answer; the first answer counts",
  withdrawn:
    "Cannot accept the answer: the tool no longer asks this question; look at the current state of the call",
  expired:
    "Cannot accept the answer: the time for an answer is over; look at the current state of the call",
  ended: "Cannot accept the answer: the call has ended; call the tool again",
};

function failed(problem: string): ToolResult {
  return { content: [text(problem)], isError: true };
}

/** The state of a call for its view, in a result. */
function stateOf(
  core: ServerCore,
  session: LiveToolSession,
  more: Pick<AskState, "problems"> = {},
): ToolResult {
  // The view need not tell the model to continue the call if a request of the model still waits for
  // the result.
  const tell = session.deferred && session.holders === 0 ? {} : { tell: false };
  if (session.outcome) {
    const { content, structuredContent, isError } = continuedResult(session.outcome);
    return {
      content,
      ...(structuredContent && { structuredContent }),
      ...(isError && { isError }),
      _meta: { [ASK_META]: { state: "done", ...tell } satisfies AskState },
    };
  }
  const state = askState(core, session);
  const said = state.state === "question" ? "The person is asked." : "The call continues.";
  return { content: [text(said)], _meta: { [ASK_META]: { ...state, ...more, ...tell } } };
}
