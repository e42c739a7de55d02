/** Turns errors into messages that tell the reader what to do. The messages contain no secrets. */
import { ToolError } from "parley-mcp";
import { Trouble } from "./careful-fetch.ts";
import { REQUEST_TIMEOUT_SECONDS } from "./setup.ts";
import { ABOUT_PASSWORDS, signInAgain } from "./password-texts.ts";

/** The operation that failed. */
export interface Doing {
  /** Completes the sentence "Cannot …", such as `sign in as "alice.test"`. */
  readonly what: string;
  /** The service that was called. */
  readonly service: string;
  /** The handle of the account that was used, if any. */
  readonly handle?: string;
  /** The account that was looked up, if any. */
  readonly wanted?: string;
  /** A secret that must not appear in the message, even if the service repeats it. */
  readonly secret?: string;
  readonly now: number;
}

/** An error of a service, as the libraries report it. */
interface ServiceError {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly headers: { readonly [name: string]: string | undefined };
}

/** The sign-in has expired or was revoked. */
export class SignInGone extends ToolError {
  constructor(readonly handle: string) {
    super(signInAgain(handle));
  }
}

/** Turns an error of a service into a `ToolError`. Returns other errors unchanged. */
export function explained(
  error: unknown,
  doing: Doing,
  isGone: (error: unknown) => boolean = () => false,
): unknown {
  if (error instanceof ToolError) return error;
  const chain = causes(error);
  const ours = chain.find((one) => one instanceof ToolError);
  if (ours) return ours;
  const trouble = chain.find((one) => one instanceof Trouble);
  if (trouble) return new ToolError(`Cannot ${doing.what}: ${inWords(trouble)}`);
  if (doing.handle && chain.some(isGone)) return new SignInGone(doing.handle);
  const answered = chain.map(serviceError).find((one) => one !== undefined);
  if (answered) return fromService(answered, doing);
  if (chain.some(isUnresolved)) return notFound(doing);
  if (chain.some(isNotUnderstood)) {
    const host = hostOf(doing.service);
    return new ToolError(
      `Cannot ${doing.what}: ${host} sent an answer that this program does not understand; try again later`,
    );
  }
  return error;
}

function inWords({ kind, host }: Trouble): string {
  switch (kind) {
    case "offline":
      return `there is no connection to ${host}; check the internet connection and the address, and try again`;
    case "slow":
      return `${host} did not answer within ${REQUEST_TIMEOUT_SECONDS} seconds; try again in a minute`;
    case "no_data":
      return `${host} answered with something other than data, perhaps a web page; check that it is the address of a Bluesky service, or try again later`;
    case "cut_off":
      return `the answer of ${host} was incomplete; try again`;
    case "too_much":
      return `the answer of ${host} was too large; request fewer items`;
    case "not_encrypted":
      return `the connection to ${host} is not encrypted; use the https address of the service`;
    case "not_public":
      return `${host} is not on the public internet; check the address of the service`;
    case "redirects":
      return `${host} redirects to another address, which is not followed; use the address of the service itself`;
  }
}

function fromService(answer: ServiceError, doing: Doing): ToolError {
  const host = hostOf(doing.service);
  const cannot = (problem: string) => new ToolError(`Cannot ${doing.what}: ${problem}`);
  const { status, error } = answer;
  switch (error) {
    case "AccountTakedown":
      return cannot(`the account has been taken down by ${host}; its support can tell you why`);
    case "AccountSuspended":
      return cannot(`the account is suspended by ${host}; its support can tell you why`);
    case "AccountDeactivated":
    case "RepoDeactivated":
      return cannot("the account is deactivated; sign in at bsky.app to activate it again");
    case "AuthFactorTokenRequired":
      return cannot(
        `that is the main password, which ${host} accepts only with a code from an e-mail. ${ABOUT_PASSWORDS}`,
      );
    case "ExpiredToken":
    case "InvalidToken":
    case "invalid_grant":
    case "invalid_token":
      return doing.handle ? new SignInGone(doing.handle) : cannot(`${host} refused the sign-in`);
    case "BadQueryString":
      return cannot("the service did not understand the search; use other words");
    case "BadCursor":
      return cannot("the cursor is not from this search; search again without it");
  }
  if (status === 429) {
    return cannot(
      `${host} has received too many requests; try again ${resetOf(answer, doing.now)}`,
    );
  }
  if (status === 401) {
    return doing.handle
      ? new SignInGone(doing.handle)
      : cannot(`the handle or the password is wrong; check both and try again. ${ABOUT_PASSWORDS}`);
  }
  const said = quoted(answer.message, doing.secret);
  if (status === 403) return cannot(`${host} does not allow it: ${said}`);
  if (
    /not ?found|unable to resolve|could not (?:find|resolve)/i.test(`${error} ${answer.message}`)
  ) {
    return notFound(doing);
  }
  if (status >= 500) {
    return cannot(`${host} reports an internal error (${status}); try again later`);
  }
  return cannot(`${host} refused the request: ${said}; check the arguments`);
}

function notFound({ what, wanted }: Doing): ToolError {
  const whom = wanted ? `"${wanted}"` : "like that";
  return new ToolError(
    `Cannot ${what}: Bluesky has no account named ${whom}; check the spelling, handles look like name.bsky.social`,
  );
}

/** The time at which requests are allowed again, in words. */
function resetOf({ headers }: ServiceError, now: number): string {
  const reset = Number(headers["ratelimit-reset"]) * 1_000;
  const wait = Number(headers["retry-after"]) * 1_000;
  const at = reset > 0 ? reset : wait > 0 ? now + wait : undefined;
  if (at === undefined) return "in a few minutes";
  const minutes = Math.max(1, Math.ceil((at - now) / 60_000));
  const time = new Date(at).toISOString().slice(0, 19).replace("T", " ");
  return `after ${time} UTC, in about ${minutes} minute${minutes === 1 ? "" : "s"}`;
}

/** Quotes one line of a service's untrusted message, without the secret. */
function quoted(message: string, secret = ""): string {
  const discreet = secret === "" ? message : message.replaceAll(secret, "•••");
  const line = discreet.replace(TOKENS, "•••").replace(/[\p{C}\s]+/gu, " ").trim().slice(0, 200);
  return `"${line || "no reason given"}"`;
}

const TOKENS = /\beyJ[\w-]*\.[\w-]+\.[\w-]+/g;

function isUnresolved(error: unknown): boolean {
  return error instanceof Error && /failed to resolve (?:identity|handle|did)/i.test(error.message);
}

/** True if the libraries could not parse the response. */
function isNotUnderstood(error: unknown): boolean {
  return error instanceof Error && (error as { status?: unknown }).status === 2;
}

function serviceError(error: unknown): ServiceError | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { status, error: code, headers, response, message, errorDescription } = error as {
    status?: unknown;
    error?: unknown;
    headers?: unknown;
    response?: unknown;
    message?: unknown;
    errorDescription?: unknown;
  };
  // The libraries use numbers below 400 for requests that got no response.
  if (typeof status !== "number" || status < 400) return undefined;
  const own = response instanceof Response ? Object.fromEntries(response.headers) : headers;
  return {
    status,
    error: typeof code === "string" ? code : "",
    message: String(errorDescription ?? message ?? ""),
    headers: (own ?? {}) as ServiceError["headers"],
  };
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let one = error; one && chain.length < 8; one = (one as Error).cause) chain.push(one);
  return chain;
}

function hostOf(service: string): string {
  return URL.parse(service)?.host ?? service;
}
