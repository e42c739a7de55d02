/**
 * Errors of language models. Each message says what to do next. Callers see these messages, so they
 * contain no addresses of the operator's network.
 */
import { SampleError } from "../model/errors.ts";
import type { Subject } from "./retrying-fetch.ts";

/** A `SampleError` that also says whether to retry. */
export class ModelFailure extends SampleError {
  constructor(
    message: string,
    readonly status?: number,
    /** True if the same request may succeed later. */
    readonly isTemporary = false,
  ) {
    super(`Cannot ask the model: ${message}`);
  }
}

/** Returns the error for a response with an HTTP error status. */
export function refused(subject: Subject, status: number, body: string): ModelFailure {
  const { name, model, keyVariable } = subject;
  const fail = (what: string, isTemporary = false) => new ModelFailure(what, status, isTemporary);
  if (status === 401 || status === 403) {
    const key = keyVariable === undefined ? "the configured key" : keyVariable;
    return fail(`${name} refuses the key (${status}); check ${key}`);
  }
  if (status === 404) {
    return fail(
      `${name} was not found (404): the address is wrong, or the service has no model "${model}"; check both`,
    );
  }
  if (status === 429) {
    return fail(
      `${name} received too many requests, or its quota is used up; try again later`,
      true,
    );
  }
  if (status === 408 || status >= 500) {
    return fail(`${name} failed or is overloaded (${status}); try again later`, true);
  }
  if (status >= 300 && status < 400) {
    return fail(
      `${name} redirects (${status}), and redirects are not followed; configure the address that it redirects to`,
    );
  }
  const said = saidIn(body, subject);
  return fail(
    `${name} refuses the request (${status})${said && `: ${said}`}; change the request`,
  );
}

/** Returns the error for a response that is not a valid answer of a model. */
export function badAnswer({ name }: Subject, problem: string): ModelFailure {
  return new ModelFailure(
    `the answer of ${name} ${problem}; check its address`,
  );
}

/** Returns the error for content that the API of the model does not support. */
export function unsupportedContent({ name }: Subject, what: string): ModelFailure {
  return new ModelFailure(`${name} does not support ${what}; leave it out, or use another model`);
}

export function timedOut({ name }: Subject, timeout: number): ModelFailure {
  return new ModelFailure(`${name} did not answer within ${timeout / 1_000} s; try again later`);
}

export function unreachable({ name }: Subject, cause: unknown): ModelFailure {
  const code = codeOf(cause);
  return new ModelFailure(
    `${name} cannot be reached${code && ` (${code})`}; check its address and whether it runs`,
  );
}

/** Returns only the code of an error. Messages differ between runtimes, and contain the address. */
function codeOf(error: unknown): string {
  for (
    let each = error, depth = 0;
    each instanceof Error && depth < 5;
    each = each.cause, depth++
  ) {
    const { code } = each as { code?: unknown };
    if (typeof code === "string" && /^\w{1,40}$/.test(code)) return code;
  }
  return "";
}

const MAX_QUOTE_LENGTH = 200;

/** Returns the message of an error response, on one line and without the API key. */
function saidIn(body: string, { key }: Subject): string {
  let said: unknown;
  try {
    const { error } = JSON.parse(body);
    said = typeof error === "string" ? error : error?.message;
  } catch {
    return "";
  }
  if (typeof said !== "string") return "";
  const line = said.replaceAll(/\s+/g, " ").trim();
  const safe = key ? line.replaceAll(key, "…") : line;
  return safe.replaceAll(/\b(?:sk|key|Bearer)[-_ ][\w*.-]{8,}/g, "…").slice(0, MAX_QUOTE_LENGTH);
}
