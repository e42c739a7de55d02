/** Asks the person a question, with a form or with a page that they visit. */
import type { Operation } from "effection";
import { type JsonObject, text } from "../model/content.ts";
import { CapabilityError, ElicitationError } from "../model/errors.ts";
import type { AnswerVia, ClientAnswer, ClientInfo, Door } from "../model/events.ts";
import { describeIssues } from "../schema/issues.ts";
import { SchemaProblem } from "../schema/problem.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { Schema, SchemaInput, SchemaIssue } from "../schema/types.ts";
import type {
  ElicitExchange,
  ElicitForm,
  ElicitOptions,
  ElicitRequestMessage,
  ElicitResponseMessage,
  ElicitResult,
  ElicitTimeout,
  ElicitUrlConfig,
  ElicitUrlResult,
  NarrowedElicitOptions,
} from "../tool/elicit-types.ts";
import { type Asker, checkLimit, isFailure, type Question, type Reply } from "./ask.ts";
import { mask } from "./mask.ts";

/** How many times a question is repeated after an invalid answer. */
const MAX_REPEATS = 3;

const WAY_OUT =
  "use a client that supports it, or call the tool with everything it needs in its arguments";
const WAY_TO_PERSON =
  "use a client that supports it, or start the server with --public-url, and with --auth-client-id if callers sign in, so that a browser can show the question";
/** The next step in the error for a question with `by: "signed-in"` that nobody could answer. */
export const WAY_TO_SIGN_IN =
  "start the server with --auth-issuer, --auth-client-id and --public-url, and call as a person who can sign in there";
const WAY_OUT_OF_HIDDEN =
  "use a client that shows forms, or call the tool with everything it needs in its arguments";

/**
 * Returns true if the client supports forms. A client that declares elicitation without a mode
 * supports forms.
 */
export function canElicitForm({ capabilities: { elicitation } }: ClientInfo): boolean {
  return elicitation !== undefined &&
    (elicitation.form !== undefined || elicitation.url === undefined);
}

export function canElicitUrl({ capabilities: { elicitation } }: ClientInfo): boolean {
  return elicitation?.url !== undefined;
}

/**
 * Asks until the answer is valid, the person declines, or the timeout passes. If a door turns out
 * to be closed, the next one is tried.
 *
 * If a client accepts a form that has required fields, but fills in none, it did not show the form.
 * Asking again would have the same result, so the client is treated as one without forms.
 */
export function* elicit(
  asker: Asker,
  form: ElicitForm,
  ask: { message: string } & JsonObject,
  options: Partial<NarrowedElicitOptions> = {},
): Operation<ElicitResult<unknown, unknown> | ElicitTimeout> {
  refuseUrlMode(form, ask, options);
  let door = asker.nextDoor(form, NO_DOORS, false);
  if (!door) throw noDoor(form, asker.client);
  const { timeout, response: narrower } = options;
  const { message, ...context } = ask ?? {};
  checkCall(form, message, context);
  checkLimit("a timeout", timeout);
  const response = narrower === undefined ? form.response : narrowed(asker.schemas, form, narrower);
  const end = timeout === undefined ? undefined : asker.time() + timeout;
  let tried = NO_DOORS;
  let repeats = 0;
  let problem = "";
  for (;;) {
    const text = repeats === 0 ? message : `${message}${AGAIN} ${problem}.`;
    const isMoved = tried.length > 0 && repeats === 0;
    const reply = yield* asker.ask(
      questionOf(form, text, response.json, door, isMoved),
      end === undefined ? undefined : Math.max(0, end - asker.time()),
    );
    if (reply.type === "timeout") return { action: "timeout" };
    const outcome = readReply(asker, form, response, message, reply);
    if (outcome.type === "accepted") return accepted(form, reply, context, outcome.value);
    if (outcome.type === "refused" && !reply.closed) return { action: outcome.action };
    if (outcome.type === "invalid" && repeats < MAX_REPEATS) {
      repeats++;
      problem = outcome.problem;
      continue;
    }
    tried = [...tried, door];
    const next = asker.nextDoor(form, tried, outcome.type === "refused");
    if (next) {
      door = next;
      repeats = 0;
      continue;
    }
    switch (outcome.type) {
      case "refused":
        return { action: outcome.action };
      case "blank":
        throw new CapabilityError(
          "elicitation",
          asker.client.name,
          WAY_OUT_OF_HIDDEN,
          "not_shown",
        );
      case "invalid":
        throw new ElicitationError(
          form.key,
          `it is still not valid after ${MAX_REPEATS + 1} attempts: ${outcome.problem}`,
          "call the tool again with other arguments, or use another client",
        );
    }
  }
}

const NO_DOORS: readonly Door[] = [];

type Elicit = Extract<Question, { kind: "elicit" }>;

/**
 * Builds a question with a form. It is not built in the generator above, which would keep it in
 * memory for as long as the call waits. Its optional fields are set one by one, because a spread is
 * slow on Bun.
 */
function questionOf(
  { key, sensitive }: ElicitForm,
  message: string,
  requestedSchema: JsonObject,
  door: Door,
  isMoved: boolean,
): Question {
  const params = { mode: "form", message, requestedSchema } as const;
  const question: { -readonly [K in keyof Elicit]: Elicit[K] } = { kind: "elicit", key, params };
  if (sensitive.length > 0) question.sensitive = sensitive;
  if (door !== "form") question.door = door;
  if (isMoved) question.moved = true;
  return question;
}

type Answered = Extract<Reply, { type: "answered" }>;

/** The meaning of a reply for its question. */
type ReadReply =
  | { readonly type: "accepted"; readonly value: unknown }
  /** If `closed` is set in the reply, the client refused without asking the person. */
  | { readonly type: "refused"; readonly action: "decline" | "cancel" }
  /**
   * The client accepted a form with required fields, but filled in none, so nobody saw the form.
   */
  | { readonly type: "blank" }
  | { readonly type: "invalid"; readonly problem: string };

/**
 * Reads the reply to a question. This is a plain function, so that an open question keeps only the
 * generator of `elicit` in memory.
 */
function readReply(
  asker: Asker,
  { key, sensitive }: ElicitForm,
  response: Schema<unknown>,
  message: string,
  reply: Answered,
): ReadReply {
  if (reply.closed && isFailure(reply.response)) return { type: "blank" };
  const action = actionOf(key, reply.response);
  if (action === "decline" || action === "cancel") return { type: "refused", action };
  if (action !== "accept") {
    return { type: "invalid", problem: "its action is not accept, decline or cancel" };
  }
  const { content } = reply.response as { content?: unknown };
  const parsed = response.parse(content ?? {});
  if (parsed.ok) return { type: "accepted", value: parsed.value };
  // The author's schema threw an error. Asking again would not help.
  if (parsed.cause !== undefined && !(parsed.cause instanceof RangeError)) throw parsed.cause;
  // Earlier versions repeated the question here. A replay of their records must repeat it too.
  const isByClient = (reply.via ?? "form") === "form";
  if (
    isByClient && isBlank(content, response.json) && !asker.askedNext(key, `${message}${AGAIN}`)
  ) return { type: "blank" };
  const problem = describeIssues(parsed.issues.map((issue) => redacted(issue, sensitive)));
  return { type: "invalid", problem };
}

/** Returns the error for a question that cannot be asked at any door. */
function noDoor({ key, sensitive, by, doors }: ElicitForm, { name }: ClientInfo): Error {
  if (sensitive.length > 0) {
    return new ElicitationError(
      key,
      "this server does not allow passwords in forms",
      "use a page, or start the server with --allow-form-passwords",
    );
  }
  if (by === "signed-in") {
    return new CapabilityError("elicitation", name, WAY_TO_SIGN_IN, "no_sign_in");
  }
  return new CapabilityError(
    "elicitation",
    name,
    by === "anyone" && !doors ? WAY_OUT : WAY_TO_PERSON,
  );
}

/**
 * The text after the message of a repeated question. Stored sessions contain this text, so it must
 * not change.
 */
const AGAIN = "\n\nThe last answer could not be used:";

/** Returns true if the content is `{}` or missing, although the form has required fields. */
function isBlank(content: unknown, { required }: JsonObject): boolean {
  if (!Array.isArray(required) || required.length === 0) return false;
  if (content === undefined) return true;
  return typeof content === "object" && content !== null && !Array.isArray(content) &&
    Object.keys(content).length === 0;
}

/**
 * Builds the result of an accepted form. The exchange is built on first access, because few tools
 * use it.
 */
function accepted(
  form: ElicitForm,
  { requestId, via = "form", elapsed = 0 }: Answered,
  context: JsonObject,
  content: unknown,
): ElicitResult<unknown, unknown> {
  // Copy the answer now: the tool may modify `content` later.
  const shown = shownAnswer(form, content);
  let exchange: ElicitExchange<unknown, unknown> | undefined;
  return {
    action: "accept",
    content,
    via: via as AnswerVia,
    elapsed,
    get exchange() {
      return exchange ??= elicitExchange<unknown, unknown>(form, requestId, context, shown);
    },
  };
}

/**
 * Replaces the message of an issue with a sensitive field, because the message may quote the
 * secret.
 */
function redacted(issue: SchemaIssue, sensitive: readonly string[]): SchemaIssue {
  const hidden = sensitive.some((field) =>
    issue.path === field || issue.path.startsWith(`${field}.`) || issue.path.startsWith(`${field}[`)
  );
  return hidden ? { ...issue, message: "is not valid" } : issue;
}

/** Asks the person to visit a page, and returns whether they agreed. */
export function* elicitUrl(
  asker: Asker,
  config: ElicitUrlConfig,
  { timeout }: ElicitOptions = {},
): Operation<{ action: ElicitUrlResult["action"] | "timeout"; elicitationId: string }> {
  if (!canElicitUrl(asker.client)) {
    throw new CapabilityError("elicitation.url", asker.client.name, WAY_OUT);
  }
  const { message, url } = checkedPage(config);
  checkLimit("a timeout", timeout);
  const elicitationId = config.elicitationId ?? (yield* asker.fresh("elicitation"));
  const reply = yield* asker.ask({
    kind: "elicit_url",
    key: "url",
    params: { mode: "url", message, url, elicitationId },
  }, timeout);
  if (reply.type === "timeout") return { action: "timeout", elicitationId };
  const action = actionOf("url", reply.response);
  if (action === undefined) {
    throw new ElicitationError(
      "url",
      "its action is not accept, decline or cancel",
      "check the client",
    );
  }
  return { action, elicitationId };
}

function actionOf(
  key: string,
  response: ClientAnswer,
): "accept" | "decline" | "cancel" | undefined {
  if (isFailure(response)) {
    throw new ElicitationError(
      key,
      `the client could not ask: ${response.error.message}`,
      "try again, or use another client",
    );
  }
  const { action } = (response ?? {}) as { action?: unknown };
  return action === "accept" || action === "decline" || action === "cancel" ? action : undefined;
}

const known = new WeakMap<object, Schema<unknown>>();

/**
 * Returns the form that the tool passed in the options of a question. It must allow less than the
 * declared form. Each schema is converted once, and then reused.
 */
function narrowed(
  schemas: SchemaReader,
  { key, response }: ElicitForm,
  input: SchemaInput,
): Schema<unknown> {
  const refuse = (problem: string, wayOut: string) =>
    new TypeError(`Cannot elicit "${key}": the form in its options ${problem}; ${wayOut}`);
  let form = known.get(input);
  if (!form) {
    try {
      form = schemas.form(input);
    } catch (error) {
      if (!(error instanceof SchemaProblem)) throw error;
      throw refuse(`cannot be asked: "${error.field}" ${error.problem}`, error.wayOut);
    }
    known.set(input, form);
  }
  const declared = Object.keys(response.json.properties as object);
  const stray = Object.keys(form.json.properties as object).find((name) =>
    !declared.includes(name)
  );
  if (stray === undefined) return form;
  throw refuse(
    `has the field "${stray}"`,
    `use fields that .elicits() declares: ${declared.join(", ")}`,
  );
}

/** Throws if the tool passes `mode: "url"`: `ctx.elicit` has no URL, so it would send a form. */
function refuseUrlMode(
  { key, context }: ElicitForm,
  ask: JsonObject | undefined,
  options: { readonly [name: string]: unknown },
): void {
  // The context of a question may have its own field named `mode`.
  const isContext = Object.hasOwn((context?.json.properties ?? {}) as object, "mode");
  if (options["mode"] !== "url" && (isContext || ask?.["mode"] !== "url")) return;
  throw new TypeError(
    `Cannot elicit "${key}" with mode "url": ctx.elicit shows a form; use ctx.elicitUrl({ message, url })`,
  );
}

/** Repeats the checks of the type checker, for tools that are written in JavaScript. */
function checkCall(form: ElicitForm, message: unknown, context: JsonObject): void {
  if (typeof message !== "string" || message === "") {
    throw new TypeError(
      `Cannot elicit "${form.key}": it has no message; pass { message: "…" }`,
    );
  }
  if (form.context) {
    const parsed = form.context.parse(context);
    if (!parsed.ok) {
      throw new TypeError(
        `Cannot elicit "${form.key}": its context does not fit the schema: ${
          describeIssues(parsed.issues)
        }; pass what .elicits() declares`,
      );
    }
  } else if (Object.keys(context).length > 0) {
    throw new TypeError(
      `Cannot elicit "${form.key}": it declares no context, but got ${
        Object.keys(context).join(", ")
      }; declare it in .elicits() or leave it out`,
    );
  }
}

function checkedPage({ message, url }: ElicitUrlConfig): { message: string; url: string } {
  const parsed = URL.parse(String(url));
  if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:") {
    throw new TypeError(
      `Cannot send the person to "${url}": it is not an http or https URL; pass a full URL`,
    );
  }
  if (typeof message !== "string" || message === "") {
    throw new TypeError(
      `Cannot send the person to "${url}": the message is missing; give the reason in { message }`,
    );
  }
  return { message, url: parsed.href };
}

/** Returns the answer as text, with sensitive fields masked. */
export function shownAnswer({ sensitive }: ElicitForm, content: unknown): string {
  return JSON.stringify(sensitive.length > 0 ? mask(content as JsonObject, sensitive) : content);
}

/** Builds the exchange of an accepted form. `shown` is the answer as text. */
export function elicitExchange<TContext, TResponse>(
  { key }: ElicitForm,
  id: string,
  context: TContext,
  shown: string,
): ElicitExchange<TContext, TResponse> {
  const response: ElicitResponseMessage = {
    role: "user",
    content: [{
      type: "tool_result",
      toolUseId: id,
      content: [text(shown)],
    }],
  };
  const request = (input: JsonObject): ElicitRequestMessage => ({
    role: "assistant",
    content: [{ type: "tool_use", id, name: key, input }],
  });
  const bare = request({});
  return {
    context,
    request: bare,
    response,
    messages: [bare, response],
    withArguments: (fn) => [request(fn(context)), response],
  };
}
