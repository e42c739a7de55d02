/**
 * The page on which a person answers the questions of a call. It works without scripts.
 *
 * ASKING-1  An answer must come from a form that this page has shown. Each form can answer only the
 *           question that it showed, and only once.
 * ASKING-2  An answer must be a POST from the page's own origin.
 * ASKING-3  The visitor is always told whether the answer was accepted.
 * ASKING-4  Values of sensitive fields are passed to the tool and never shown.
 */
import { Buffer } from "node:buffer";
import { call, type Operation, race, until } from "effection";
import { deadline, type Deadlines } from "../lib/deadlines.ts";
import { nodeCrypto } from "../lib/sealer.ts";
import { type Entered, formFields, type FormProblem } from "../ui/form.ts";
import { readForm } from "../ui/form-data.ts";
import { escaped, fieldsHtml } from "../ui/form-html.ts";
import type { AnswerOutcome, AskedQuestion, AskingPlace, ClosedReason } from "./doors/types.ts";
import { isOwnPost, noticePage, pageHeaders, readUrlEncoded, respondWith } from "./html-page.ts";

export interface AskingPageOptions {
  /** Returns the URL of the page for browsers. */
  readonly url: () => string;
  readonly deadlines: Deadlines;
}

/** Milliseconds to wait for the next question before the page after an answer is shown. */
const NEXT_QUESTION = 2_000;

/** Milliseconds that a request of the page's script waits for a change. */
const CHANGE = 25_000;

/** Milliseconds within which the body of a request must arrive. */
const BODY = 30_000;

/** How many shown forms a page accepts answers from. The oldest forms are forgotten. */
const MAX_FORMS = 64;

/** The outcome of the last answer. The next page shows it. */
type Sent = "accept" | "decline" | "again";

type Current = ReturnType<AskingPlace["current"]>;

const isQuestion = (current: Current): current is AskedQuestion => !("ended" in current);

/** Returns a handler for the requests to a page, to use as `PageOptions.respond`. */
export function askingPage(
  place: AskingPlace,
  options: AskingPageOptions,
): (request: Request) => Operation<Response> {
  const page = new AskingPage(place, options);
  return (request) => page.respond(request);
}

class AskingPage {
  readonly #place: AskingPlace;
  readonly #url: () => string;
  readonly #deadlines: Deadlines;
  /** The shown forms by their one-time token: the question's id, and whether the form was used. */
  readonly #forms = new Map<string, { readonly question: string; used: boolean }>();

  constructor(place: AskingPlace, { url, deadlines }: AskingPageOptions) {
    this.#place = place;
    this.#url = url;
    this.#deadlines = deadlines;
  }

  *respond(request: Request): Operation<Response> {
    const { pathname, searchParams } = new URL(request.url);
    switch (request.method) {
      case "GET":
      case "HEAD":
        return pathname.endsWith("/changed")
          ? yield* this.#change(searchParams.get("seen"))
          : yield* this.#show(searchParams.get("sent"));
      case "POST":
        return yield* this.#post(request);
      default:
        return noticePage(
          405,
          "This page does not support the request",
          "Open the link of the page in a browser.",
          {
            allow: "GET, HEAD, POST",
          },
        );
    }
  }

  get #path(): string {
    return new URL(this.#url()).pathname;
  }

  /** Tells the page's script whether the page is out of date. Waits for a change first. */
  *#change(seen: string | null): Operation<Response> {
    yield* this.#changeFrom(seen, CHANGE);
    return Response.json({ changed: markOf(this.#place.current()) !== seen });
  }

  /**
   * Waits up to `ms` until the page would show something else. Does not wait if the call has ended.
   */
  *#changeFrom(seen: string | null, ms: number): Operation<void> {
    const place = this.#place;
    const canChange = () => {
      const current = place.current();
      return markOf(current) === seen && (isQuestion(current) || current.ended === "waiting");
    };
    yield* race([
      call(function* () {
        while (canChange()) yield* place.changed();
      }),
      deadline(this.#deadlines, ms),
    ]);
  }

  *#show(sent: string | null): Operation<Response> {
    if (sent !== null) yield* this.#changeFrom("waiting", NEXT_QUESTION);
    const now = this.#place.current();
    if (!isQuestion(now)) return this.#ended(now.ended, sent);
    const told = isSent(sent) ? `${SENT[sent]} Here is the next question.` : undefined;
    return this.#form(now, told === undefined ? {} : { told });
  }

  *#post(request: Request): Operation<Response> {
    // ASKING-2
    if (!isOwnPost(request.headers, this.#url())) {
      return noticePage(
        403,
        "Your answer was not accepted",
        "The answer came from another site. Open the link that you were given, and answer there.",
      );
    }
    const form = yield* race([until(readUrlEncoded(request)), deadline(this.#deadlines, BODY)]);
    if (!form) {
      return noticePage(
        413,
        "Your answer was not accepted",
        "The answer could not be read, or is too long.",
      );
    }
    const current = this.#place.current();
    // ASKING-1: the token proves which question this page has shown, and whether it was answered.
    const shown = this.#forms.get(form.get("token") ?? "");
    if (shown?.used) return this.#redirect("again");
    if (!isQuestion(current) && current.ended === "gone") return this.#ended("gone", null);
    if (!shown) {
      return isQuestion(current) ? this.#outdated(current, form) : this.#closed("answered");
    }
    // The page may show another question by now. The answer is for the one that the form showed.
    const asked = this.#place.find(shown.question);
    if ("closed" in asked) return this.#closed(asked.closed);
    const action = form.get("action");
    if (action === "decline") return this.#answered(asked, shown, "decline");
    if (action !== "accept") {
      return noticePage(400, "Your answer was not accepted", "Choose Accept or Decline.");
    }
    const fields = formFields(asked.requestedSchema, asked.sensitive);
    const { content, problems, entered } = readForm(fields, form);
    if (problems.length > 0) return this.#form(asked, { problems, entered });
    return this.#answered(asked, shown, "accept", { content, entered });
  }

  #answered(
    asked: AskedQuestion,
    shown: { used: boolean },
    action: "accept" | "decline",
    given?: { content: { [name: string]: unknown }; entered: Entered },
  ): Response {
    const outcome: AnswerOutcome = this.#place.answer(asked.id, action, given?.content);
    switch (outcome.kind) {
      case "accepted":
        shown.used = true;
        return this.#redirect(action);
      case "invalid": {
        const { problems } = outcome;
        return this.#form(asked, { problems, ...(given && { entered: given.entered }) });
      }
      case "closed":
        return this.#closed(outcome.reason);
    }
  }

  /** Handles a form that is unknown, because it is old or the server was restarted. Keeps the input. */
  #outdated(current: AskedQuestion, form: URLSearchParams): Response {
    const told = "Your answer was not sent, because the form was out of date. " +
      "Please check your answer and send it again.";
    if (form.get("shown") !== markOf(current)) return this.#form(current, { told, status: 409 });
    const fields = formFields(current.requestedSchema, current.sensitive);
    const { entered } = readForm(fields, form);
    return this.#form(current, { told, entered, status: 409 });
  }

  #form(current: AskedQuestion, shown: {
    readonly problems?: readonly FormProblem[];
    readonly entered?: Entered;
    readonly told?: string;
    readonly status?: number;
  }): Response {
    const { problems = [], entered, told, status = problems.length > 0 ? 422 : 200 } = shown;
    const { tool, client, message, requestedSchema, sensitive } = current;
    const name = tool.title ?? tool.name;
    const path = this.#path;
    const mark = markOf(current);
    // ASKING-4: `fieldsHtml` leaves sensitive fields empty.
    const fields = fieldsHtml(formFields(requestedSchema, sensitive), {
      problems,
      ...(entered && { entered }),
    });
    return respondWith(status, {
      title: `${problems.length > 0 ? "Problem: " : ""}${name} asks`,
      watch: { url: `${path}/changed?seen=${encodeURIComponent(mark)}`, how: "tell" },
      body: `${told === undefined ? "" : `<p class="note" role="status">${escaped(told)}</p>`}
<h1>${escaped(name)} asks</h1>
<p class="who">From the tool <code>${escaped(tool.name)}</code>${
        client === undefined ? "" : `, called by <strong>${escaped(client)}</strong>`
      }.</p>
<p class="message">${escaped(message)}</p>
<form method="post" action="${escaped(path)}" novalidate>
<input type="hidden" name="token" value="${this.#token(current)}">
<input type="hidden" name="shown" value="${escaped(mark)}">
${fields}
<p id="closed" role="status"></p>
<div class="actions"><button class="main" name="action" value="accept">Accept</button>
<button name="action" value="decline">Decline</button></div>
<p class="note">If you did not expect a question, decline it.</p>
</form>`,
    });
  }

  /** Creates a token for a form that is about to be shown. */
  #token({ id }: AskedQuestion): string {
    const token = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
    this.#forms.set(token, { question: id, used: false });
    if (this.#forms.size > MAX_FORMS) this.#forms.delete(this.#forms.keys().next().value!);
    return token;
  }

  /** Redirects to the page after an answer, so that a reload does not send the answer again. */
  #redirect(sent: Sent): Response {
    return new Response(null, {
      status: 303,
      headers: { ...pageHeaders(), location: `${this.#path}?sent=${sent}` },
    });
  }

  #ended(ended: "finished" | "waiting" | "gone", sent: string | null): Response {
    const told = isSent(sent) ? SENT[sent] : "There is nothing to answer.";
    switch (ended) {
      case "waiting":
        return respondWith(200, {
          title: "Waiting",
          watch: { url: `${this.#path}/changed?seen=waiting`, how: "reload" },
          body: `<h1>${told}</h1>
<p>You can close this tab. If the tool asks something else before that, the question appears here.</p>`,
        });
      case "finished":
        return noticePage(200, told, "The call has ended. You can close this tab.");
      case "gone":
        return noticePage(
          410,
          "This question is no longer open",
          "The call was cancelled, or it has expired. Nothing was sent. You can close this tab.",
        );
    }
  }

  /** Tells the visitor why an answer does not count (ASKING-3). */
  #closed(reason: ClosedReason): Response {
    const next = isQuestion(this.#place.current())
      ? `<p><a href="${escaped(this.#path)}">Show the question that is open now</a></p>`
      : "<p>You can close this tab.</p>";
    return respondWith(409, {
      title: "Your answer was not sent",
      body: `<h1>Your answer was not sent</h1><p role="alert">${CLOSED[reason]}</p>${next}`,
    });
  }
}

const SENT: Record<Sent, string> = {
  accept: "Your answer was sent.",
  decline: "You declined to answer.",
  again: "This question was answered before. The first answer counts.",
};

function isSent(sent: string | null): sent is Sent {
  return sent !== null && Object.hasOwn(SENT, sent);
}

const CLOSED: Record<ClosedReason, string> = {
  answered: "The question has been answered already. The first answer counts.",
  withdrawn: "The tool no longer asks this question.",
  expired: "The time for an answer is over.",
  ended: "The call has ended or was cancelled.",
};

/**
 * Identifies the content of a page, so that the server can check whether a script or form is
 * current.
 */
function markOf(current: Current): string {
  if (!isQuestion(current)) return current.ended;
  return nodeCrypto().createHash("sha256").update(current.id).digest("base64url").slice(0, 22);
}
