/**
 * Also shows forms on a page, if nobody answers them within `askPatience`. Some clients declare
 * forms, but never show them.
 *
 * PATIENCE-1  The first answer counts, whether it comes from the form or from the page.
 * PATIENCE-2  A legacy request is still open at that time. It ends with a deferral that contains
 *             the link. A modern request has already ended, and no message can reach the client. So
 *             the page is used only if the server can open it in a browser.
 */
import { canElicitForm } from "../../ask/elicit.ts";
import type { Deadline } from "../../lib/deadlines.ts";
import type { ClientInfo, ElicitRequest, ToolSessionRequest } from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { ServerCore } from "../core.ts";
import { Hold } from "./hold.ts";
import { isBeside, showBeside } from "./travel.ts";

/** Measures how long the forms of a legacy call have been unanswered. */
export class CallPatience {
  readonly #core: ServerCore;
  #asked: string | undefined;
  #hold: Hold | undefined;

  constructor(core: ServerCore) {
    this.#core = core;
  }

  /** True if the forms have been unanswered for too long, and are also shown on a page. */
  isOver(
    session: LiveToolSession,
    open: readonly ToolSessionRequest[],
    client: ClientInfo,
  ): boolean {
    const { askPatience, places } = this.#core;
    const forms = askPatience === undefined ? [] : movable(this.#core, session, open, client);
    if (forms.length === 0) return false;
    const asked = forms.map(({ id }) => id).join();
    if (this.#asked !== asked) {
      this.cancel();
      this.#asked = asked;
      this.#hold = new Hold(session);
    }
    if (!this.#hold!.isOver(askPatience!)) return false;
    for (const form of forms) showBeside(session, form);
    places.urlOf(session);
    return !places.isOpening(session);
  }

  cancel(): void {
    this.#hold?.cancel();
  }
}

/**
 * Measures how long the forms of modern clients have been unanswered. Their requests have ended.
 */
export class Patience {
  readonly #core: ServerCore;
  /** The timers, by the ids of their sessions. */
  readonly #timers = new Map<string, Deadline>();

  constructor(core: ServerCore) {
    this.#core = core;
  }

  /** Called when a modern client was sent the open questions of a session (PATIENCE-2). */
  asked({ id, client }: LiveToolSession): void {
    const { askPatience, deadlines, pages, canOpenBrowser } = this.#core;
    if (askPatience === undefined || !pages.local || !canElicitForm(client)) return;
    this.#timers.get(id)?.cancel();
    this.#timers.set(
      id,
      deadlines.add(askPatience, () => {
        this.#timers.delete(id);
        if (canOpenBrowser()) this.#over(id);
      }),
    );
  }

  ended({ id }: LiveToolSession): void {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
  }

  #over(id: string): void {
    const { registry } = this.#core;
    // The session may have left memory.
    const found = registry.lookup(id);
    if (!(found instanceof Promise)) return this.#show(found);
    found.then((session) => this.#show(session), (error) => {
      const what = "the question of a form could not be asked on a page";
      registry.report({ what, toolName: "-", sessionId: id, error });
    });
  }

  #show(session: LiveToolSession | undefined): void {
    // A request waits for the session, so the client is still active.
    if (!session || session.outcome || session.holders > 0) return;
    const core = this.#core;
    const forms = movable(core, session, session.openRequests(), session.client);
    for (const form of forms) showBeside(session, form);
    if (forms.length > 0) core.places.urlOf(session);
  }
}

/** The open forms. Empty unless all open questions are forms that a page can also show. */
function movable(
  { pages }: ServerCore,
  session: LiveToolSession,
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): readonly ElicitRequest[] {
  const { tool, principal } = session;
  const forms = open.filter((request): request is ElicitRequest =>
    request.type === "elicit_request" && request.params.mode === "form" &&
    (request.door ?? "form") === "form" && !isBeside(session, request)
  );
  const call = { client, principal, tool };
  const canMove = forms.every(({ place: { key } }) => {
    const form = tool.elicits.get(key);
    return form && pages.doors.choose(call, form, ["form", "app"], true) === "page";
  });
  return canMove && forms.length === open.length ? forms : [];
}
