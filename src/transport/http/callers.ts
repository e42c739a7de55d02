/**
 * Identifies the caller of each HTTP request: by its access token, or with the `principal`
 * function.
 */
import { RateLimits } from "../../lib/rate-limits.ts";
import { namedPrincipal, type Principal } from "../../model/principal.ts";
import { SERVER_BUSY } from "../../model/rpc-codes.ts";
import type { Gate } from "../../server/access.ts";
import type { PrincipalOf } from "../../server/options.ts";
import { refuse } from "./respond.ts";

/** The caller of a request, or the refusal. Undefined for the anonymous caller. */
export type FoundCaller = Principal | undefined | Response;

export interface CallersOptions {
  readonly gate?: Gate;
  readonly principal?: PrincipalOf;
}

export class Callers {
  /** True if all requests come from the same, anonymous caller. */
  readonly areAnonymous: boolean;
  readonly #gate: Gate | undefined;
  readonly #principal: PrincipalOf | undefined;

  readonly #rates: RateLimits | undefined;
  readonly #now: () => number;

  /** `now` returns the time for the limit of requests per minute. */
  constructor({ gate, principal }: CallersOptions, perMinute: number, now: () => number) {
    this.#gate = gate;
    this.#rates = Number.isFinite(perMinute) ? new RateLimits(perMinute) : undefined;
    this.#now = now;
    this.#principal = principal;
    this.areAnonymous = !gate && !principal;
  }

  /**
   * Finds the visitor of a page. `isForPerson` is true if only people may open the page, and no
   * programs.
   */
  visitorOf(request: Request, isForPerson: boolean): FoundCaller | Promise<FoundCaller> {
    return this.#gate ? this.#gate.visitorOf(request, isForPerson) : this.#find(request);
  }

  /** Finds the caller of a message, and counts the message against the caller's limit. */
  of(request: Request): FoundCaller | Promise<FoundCaller> {
    const found = this.#find(request);
    if (!this.#rates) return found;
    return found instanceof Promise
      ? found.then((found) => this.#counted(found))
      : this.#counted(found);
  }

  #counted(found: FoundCaller): FoundCaller {
    if (found === undefined || found instanceof Response) return found;
    const wait = this.#rates!.take(found.id, this.#now());
    if (wait === 0) return found;
    const reason = "the caller has made too many requests in the last minute";
    this.#gate?.refused({ reason, status: 429, principal: found.id, isOutage: false });
    const message =
      "Cannot serve the request: the caller has sent too many requests in the last minute; try again later";
    return refuse(429, { code: SERVER_BUSY, message }, undefined, {
      "retry-after": String(Math.ceil(wait / 1_000)),
    });
  }

  /** Returns a promise only if finding the caller takes time. */
  #find(request: Request): FoundCaller | Promise<FoundCaller> {
    if (this.#gate) return this.#gate.callerOf(request);
    if (!this.#principal) return undefined;
    const named = this.#principal(request);
    return named instanceof Promise ? named.then(callerIn) : callerIn(named);
  }
}

/**
 * The caller that a `principal` function returned. Refuses an empty name, because it stands for the
 * anonymous caller, and values of other types, which a function in JavaScript may return.
 */
function callerIn(named: unknown): Principal | Response {
  if (typeof named === "string" && named !== "") return namedPrincipal(named);
  if (named instanceof Response) return named;
  if (typeof named === "object" && named !== null) {
    const { id } = named as { id?: unknown };
    if (typeof id === "string" && id !== "") return { ...namedPrincipal(id), ...named };
  }
  return refuse(
    401,
    "Cannot serve the request: the caller is unknown; sign in and send it again",
    undefined,
    { "www-authenticate": "Bearer" },
  );
}
