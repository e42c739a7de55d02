/**
 * Sessions of people in a browser. A browser sends no access token, so the server keeps a session
 * for each person in a sealed cookie. `sign-in.ts` creates it.
 *
 * BROWSER-1  A cookie is sealed by this server. It says who the person is, and contains no token.
 * BROWSER-2  A cookie is for this host only, hidden from scripts, and not sent by other sites'
 *            forms. Except on loopback, it is sent only over https.
 */
import type { Sealer } from "../lib/sealer.ts";
import type { Principal } from "../model/principal.ts";

/** Milliseconds until the person must sign in again. */
export const SESSION_TIME = 3_600_000;

const NAME = "parley_session";
const CONTEXT = "browser session";

export class BrowserSessions {
  readonly #sealer: Sealer;
  readonly #isSecure: () => boolean;

  /** `isSecure` returns whether browsers reach the server over https. */
  constructor(sealer: Sealer, isSecure: () => boolean) {
    this.#sealer = sealer;
    this.#isSecure = isSecure;
  }

  /**
   * The person whom the session cookie of a request names. Undefined if there is no valid cookie.
   */
  visitorIn(request: Request, now: number): Principal | undefined {
    const session = this.open(cookieIn(request, NAME), CONTEXT, now);
    return session as Principal | undefined;
  }

  /** The value of `Set-Cookie` that starts a session (BROWSER-1). */
  begin({ id, subject, issuer, client, scopes }: Principal, now: number): string {
    const who = { id, subject, ...(issuer && { issuer }), ...(client && { client }), scopes };
    return this.cookie(NAME, { ...who, claims: {} }, CONTEXT, SESSION_TIME, now);
  }

  /** A sealed cookie that expires after `ms` milliseconds (BROWSER-2). */
  cookie(name: string, value: object, context: string, ms: number, now: number): string {
    const sealed = this.#sealer.seal(JSON.stringify({ value, until: now + ms }), context);
    return `${name}=${sealed}; Max-Age=${ms / 1_000}; ${this.#attributes}`;
  }

  /** Removes a cookie. */
  remove(name: string): string {
    return `${name}=; Max-Age=0; ${this.#attributes}`;
  }

  /** The value in a sealed cookie. Undefined if it was changed or has expired. */
  open(sealed: string | undefined, context: string, now: number): unknown {
    const text = sealed === undefined ? undefined : this.#sealer.open(sealed, context);
    if (text === undefined) return undefined;
    const { value, until } = JSON.parse(text) as { value: unknown; until: number };
    return now < until ? value : undefined;
  }

  get #attributes(): string {
    return `Path=/; HttpOnly; SameSite=Lax${this.#isSecure() ? "; Secure" : ""}`;
  }
}

export function cookieIn(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split("; ");
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
