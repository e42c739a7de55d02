/// <reference lib="dom" />
/**
 * The script of views that ask questions. It shows the questions of one call. It sends the answers
 * with the tool `answer_call`. If the host passes its questions to views (SEP-3118), it returns the
 * answers to the host.
 *
 * VIEW-1  The view is empty until the call asks a question.
 * VIEW-2  A question is drawn once. Hosts repeat notifications, and a second drawing would lose the
 *         person's input.
 * VIEW-3  Hosts remove `_meta` and `structuredContent` from results that they pass on. The view
 *         then finds the ticket in the text. Results of requests that the view itself sends are
 *         complete.
 * VIEW-4  The view never submits a form, because the sandbox may not allow it.
 * VIEW-5  The view shows no form if it cannot send the answer. It says how to answer instead.
 */
import type { JsonObject } from "../model/content.ts";
import { ASK_META, type AskState, type ViewQuestion } from "./ask-state.ts";
import { readForm } from "./form-data.ts";
import { fieldsHtml, type FormState } from "./form-html.ts";
import { formFields, type FormProblem } from "./form.ts";
import { Host, type ViewResult } from "./host.ts";
import { fillZones } from "./zones.ts";

/**
 * The functions with which the author of a view draws. If one returns undefined, the default is
 * drawn.
 */
interface OwnDrawing {
  question?(question: ViewQuestion, answer: (content: JsonObject) => void): Node | undefined;
  result?(result: ViewResult): Node | undefined;
}

type Action = "accept" | "decline";

/** Sends an answer. Resolves to problems to show, or to nothing. */
type Send = (action: Action, content?: JsonObject) => Promise<void>;

const own: OwnDrawing = (globalThis as { parley?: OwnDrawing }).parley ?? {};
const main = document.querySelector("main")!;

/** The question that is drawn. */
let drawn: string | undefined;
let state: AskState | undefined;
/** Whether the model has been told that the person has answered since the last question. */
let told = true;
let polling = false;
/** Whether the last question was answered in this view. */
let hasAnswered = false;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Replaces the content of the view, which is empty at first (VIEW-1). */
function show(...parts: (Node | string)[]): void {
  main.replaceChildren(...parts);
}

/** A text whose first line is a heading. */
function titled(text: string): Node[] {
  const [first = "", ...rest] = text.trim().split("\n");
  const more = rest.join("\n").trim();
  return [
    element("h1", {}, first),
    ...(more === "" ? [] : [element("p", { className: "message" }, more)]),
  ];
}

function element(tag: string, properties: object = {}, ...parts: (Node | string)[]): HTMLElement {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...parts);
  return made;
}

/** Draws a question, unless it is drawn already (VIEW-2). */
function draw(question: ViewQuestion, send: Send, problems: readonly FormProblem[] = []): void {
  if (drawn === question.id && problems.length === 0) return;
  drawn = question.id;
  const accept = (content: JsonObject) => submit(() => send("accept", content));
  const decline = button("Decline", () => submit(() => send("decline")));
  const custom = problems.length === 0 ? own.question?.(question, accept) : undefined;
  if (custom) {
    show(custom, status(), element("div", { className: "actions" }, decline));
    return;
  }
  drawForm(question, send, decline, { problems });
}

function drawForm(question: ViewQuestion, send: Send, decline: Node, shown: FormState): void {
  const fields = formFields(question.requestedSchema);
  const form = element("form") as HTMLFormElement;
  form.noValidate = true;
  form.innerHTML = fieldsHtml(fields, shown);
  const accept = () => {
    const { content, problems, entered } = readForm(fields, new FormData(form));
    if (problems.length > 0) drawForm(question, send, decline, { problems, entered });
    else submit(() => send("accept", content));
  };
  const main = button("Accept", accept);
  main.className = "main";
  form.append(status(), element("div", { className: "actions" }, main, decline));
  // The Enter key sends the answer, as in any form (VIEW-4).
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    accept();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  // A link leads to a field. Following it would leave the page, so focus the field instead.
  form.addEventListener("click", (event) => {
    const link = (event.target as Element).closest("a");
    if (!link) return;
    event.preventDefault();
    document.querySelector<HTMLElement>(link.getAttribute("href")!)?.focus();
  });
  fillZones(form);
  show(...titled(question.message), form);
  form.querySelector<HTMLElement>(".problems")?.focus();
}

function button(label: string, click: () => void): HTMLElement {
  const made = element("button", { type: "button" }, label);
  made.addEventListener("click", click);
  return made;
}

function status(): HTMLElement {
  const made = element("p", { className: "problem" });
  made.setAttribute("role", "status");
  return made;
}

function note(text: string, more?: string): void {
  const made = element("div", {}, element("h1", {}, text));
  if (more !== undefined) made.append(element("p", {}, more));
  made.setAttribute("role", "status");
  show(made);
}

function showResult(result: ViewResult): void {
  const drawing = own.result?.(result);
  show(...drawing ? [drawing] : titled(textOf(result) || "Done."));
}

/** Sends an answer once, and shows an error if that fails. */
async function submit(send: () => Promise<void>): Promise<void> {
  const buttons = [...main.querySelectorAll("button")].filter((button) => !button.disabled);
  for (const button of buttons) button.disabled = true;
  try {
    await send();
  } catch (error) {
    const { message } = error as Error;
    const shown = main.querySelector("[role=status]");
    if (shown) shown.textContent = `Your answer was not sent. ${message}`;
  }
  for (const button of buttons) button.disabled = false;
}

const textOf = (result: ViewResult) =>
  (result.content ?? []).map(({ text = "" }) => text).join("\n").trim();

/**
 * False if the host does not let views call tools. In that case, the view shows no form (VIEW-5).
 */
const canAnswer = () => host.capabilities.serverTools !== undefined;

/** Requests are numbered, so that a reply that arrives after a later one is ignored. */
let started = 0;
let taken = 0;
const numbers = new WeakMap<ViewResult, number>();

async function answerCall(args: JsonObject): Promise<ViewResult> {
  const number = ++started;
  const result = await host.callTool("answer_call", args);
  numbers.set(result, number);
  return result;
}

const stateIn = ({ _meta }: ViewResult) => _meta?.[ASK_META] as AskState | undefined;

/**
 * Applies the state of the call in a result. `whole` is false if the host passed the result on
 * (VIEW-3).
 */
function take(result: ViewResult, whole: boolean): void {
  const found = stateIn(result);
  if (!found) {
    if (whole) {
      throw new Error(
        textOf(result) || "Cannot continue: the server sent no state of the call; try again",
      );
    }
    return;
  }
  const number = numbers.get(result) ?? 0;
  if (number < taken) return;
  taken = number;
  // Keep the earlier fields: the server sends the secret only once.
  state = { ...state, ...found };
  const { question, problems } = found;
  if (found.state === "question" && question) {
    if (drawn !== question.id) told = hasAnswered = false;
    draw(question, answer, problems);
    return;
  }
  const wasAsked = drawn !== undefined;
  drawn = undefined;
  if (found.state === "done") {
    showResult(result);
  } else {
    if (hasAnswered) note("Your answer was sent.");
    else if (wasAsked) note("This question is no longer open here.");
    poll();
  }
  if (whole && (hasAnswered || found.state === "done")) tell(found);
}

const answer: Send = async (action, content) => {
  const { secret, question } = state!;
  const { id } = question!;
  const result = await answerCall({
    secret,
    answer: { question: id, action, ...(content && { content }) },
  });
  hasAnswered = !result.isError;
  if (result.isError && !stateIn(result)) {
    // The question was answered elsewhere, or withdrawn: show the current state.
    const now = await answerCall({ secret });
    if (stateIn(now) && stateIn(now)?.question?.id !== id) return take(now, true);
  }
  take(result, true);
};

/**
 * Tells the model to continue, unless a request of the model still waits. Hosts may ignore this.
 */
function tell({ tell, ticket }: AskState): void {
  if (told || tell === false) return;
  told = true;
  const next = `Call continue_call with ${JSON.stringify({ ticket: ticket ?? state?.ticket })}.`;
  const content = (text: string) => [{ type: "text", text }];
  const { updateModelContext, message } = host.capabilities;
  const ignored = () => {};
  if (updateModelContext) {
    const text = `The person has answered. ${next}`;
    host.request("ui/update-model-context", { content: content(text) }).catch(ignored);
  }
  if (message) {
    const text = `I have answered. ${next}`;
    host.request("ui/message", { role: "user", content: content(text) }).catch(ignored);
  }
}

/** Waits for the next question, or for the end. Each request waits on the server for a while. */
async function poll(): Promise<void> {
  if (polling) return;
  polling = true;
  for (let round = 0; round < 600 && state?.state === "waiting"; round++) {
    await pause(1_000);
    try {
      take(await answerCall({ secret: state.secret }), true);
    } catch {
      break;
    }
  }
  polling = false;
}

/** The arguments of the call, as far as the host has shown them. */
let callArguments: JsonObject | undefined;

/**
 * Looks for the call on the server. A host may show the view before the call waits for an answer.
 */
async function checkIn(): Promise<void> {
  if (!canAnswer()) return;
  for (let round = 0; round < 20 && !state; round++) {
    const tool = host.context.toolInfo?.tool?.name;
    const find = { ...(tool && { tool }), ...(callArguments && { arguments: callArguments }) };
    try {
      const result = await answerCall({ find });
      if (!state && !result.isError) return take(result, true);
    } catch {
      return; // The host lets views call no tools.
    }
    await pause(500);
  }
}

/** Handles a result that the host passed on: the call has ended, or it was deferred (VIEW-3). */
async function passedOn(result: ViewResult): Promise<void> {
  const deferred = stateIn(result);
  const ticket = deferred?.ticket ?? result.structuredContent?.ticket ??
    /"ticket":"([^"]+)"/.exec(textOf(result))?.[1];
  if (typeof ticket !== "string") {
    // The call has ended, or it never asked a question.
    if (!state || state.state === "done") return;
    state = { ...state, state: "done" };
    drawn = undefined;
    showResult(result);
    return;
  }
  if (!canAnswer()) {
    note(
      "Your answer cannot be sent from here.",
      "This app does not let you answer in this panel. " +
        "Ask the assistant to continue, and it will ask you in another way.",
    );
    return;
  }
  // Once the view has found its call, its state is newer than this result.
  if (deferred && !state) take(result, false);
  // An old conversation may show a question that has been answered since.
  const fresh = await answerCall({ ticket }).catch(() => undefined);
  if (fresh && stateIn(fresh)) take(fresh, true);
  else if (fresh && !state) note(textOf(fresh));
}

/** SEP-3118: the host passes an elicitation request to the view, and gets its result. */
let asking = 0;
function elicited({ message, requestedSchema, mode = "form" }: JsonObject): Promise<JsonObject> {
  if (mode !== "form") {
    throw new Error("Cannot open a page: a view shows only forms; open the page in a browser");
  }
  return new Promise((resolve) => {
    const question = {
      id: `elicited-${++asking}`,
      key: "",
      message: String(message),
      requestedSchema: requestedSchema as JsonObject,
    };
    draw(question, (action, content) => {
      resolve({ action, ...(content && { content }) });
      drawn = undefined;
      note("Your answer was sent.");
      return Promise.resolve();
    });
  });
}

const host = new Host({
  "ui/notifications/tool-input": ({ arguments: given }) => {
    callArguments = given as JsonObject;
  },
  "ui/notifications/tool-result": (result) => passedOn(result as ViewResult),
  "ui/notifications/tool-cancelled": () => {
    if (state && state.state !== "done") note("The call was cancelled.");
  },
  "elicitation/create": elicited,
  "notifications/cancelled": () => {
    if (!state) show();
  },
});
host.start("parley", { elicitation: {} }).then(checkIn, () => {});
