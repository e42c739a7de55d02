/**
 * What can go wrong with a model, in words that say what to do about it. Callers
 * read them too, so they name no address inside the operator's network.
 */
import { SampleError } from "../model/errors.ts";
import type { Subject } from "./retrying-fetch.ts";

/** A `SampleError` that remembers enough to decide whether to try again. */
export class ModelFailure extends SampleError {
  constructor(
    message: string,
    readonly status?: number,
    /** Whether the same request may succeed a little later. */
    readonly isPassing = false,
  ) {
    super(`Cannot ask the model: ${message}`);
  }
}

/** The other side answered with an error. */
export function refused(subject: Subject, status: number, body: string): ModelFailure {
  const { name, model, keyVariable } = subject;
  const fail = (what: string, isPassing = false) => new ModelFailure(what, status, isPassing);
  if (status === 401 || status === 403) {
    const key = keyVariable === undefined ? "the key that it was given" : keyVariable;
    return fail(`${name} refuses the key (${status}); check ${key}`);
  }
  if (status === 404) {
    return fail(
      `${name} is not to be had (404): its address knows no model "${model}", or is no model's address; check both`,
    );
  }
  if (status === 429) {
    return fail(
      `${name} has had too many requests, or its quota is used up; try again later`,
      true,
    );
  }
  if (status === 408 || status >= 500) {
    return fail(`${name} is out of order or overloaded (${status}); try again later`, true);
  }
  if (status >= 300 && status < 400) {
    return fail(`${name} points somewhere else (${status}), and nobody follows; check its address`);
  }
  const said = saidIn(body, subject);
  return fail(
    `${name} refuses the request (${status})${said && `: ${said}`}; ask for something else`,
  );
}

/** The other side answered, but not as a model does. */
export function badAnswer({ name }: Subject, problem: string): ModelFailure {
  return new ModelFailure(
    `the answer of ${name} ${problem}; check that its address is the right one`,
  );
}

/** What is to be sent cannot be said in this model's wire format. */
export function unsayable({ name }: Subject, what: string): ModelFailure {
  return new ModelFailure(`${name} cannot take ${what}; leave it out, or use another model`);
}

export function tooSlow({ name }: Subject, timeout: number): ModelFailure {
  return new ModelFailure(`${name} did not answer within ${timeout / 1_000} s; try again later`);
}

export function unreachable({ name }: Subject, cause: unknown): ModelFailure {
  const code = codeOf(cause);
  return new ModelFailure(
    `${name} cannot be reached${code && ` (${code})`}; check its address, and that it is running`,
  );
}

/** Runtimes word the same fault differently, and put the address into it; the code is enough. */
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

const LONGEST_QUOTE = 200;

/** What the error's own message says, on one line and without secrets. */
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
  return safe.replaceAll(/\b(?:sk|key|Bearer)[-_ ][\w*.-]{8,}/g, "…").slice(0, LONGEST_QUOTE);
}
