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

/** Milliseconds until a session ends. */
export const SESSION_TIME = 600_000;
/** Milliseconds after which a person who opens a page is checked again by the issuer. */
const RENEW_AFTER = 300_000;

const NAME = "parley_session";
const CONTEXT = "browser session 2";

interface Session {
  readonly person: Principal;
  /** When the issuer last confirmed who the person is and what they may do. */
  readonly begun: number;
  /** The scopes that the issuer was asked for. It may have granted fewer. */
  readonly asked: readonly string[];
}

/** A person who visits a page. */
export interface Visitor extends Session {
  /** True if the issuer should check the person again. */
  readonly isOld: boolean;
}

export class BrowserSessions {
  readonly #sealer: Sealer;
  readonly #isSecure: () => boolean;

  /** `isSecure` returns whether browsers reach the server over https. */
  constructor(sealer: Sealer, isSecure: () => boolean) {
    this.#sealer = sealer;
    this.#isSecure = isSecure;
  }

  /**
   * The person whom the session cookie of a request names. `isOld` is true if the issuer should
   * check the person again. Undefined if there is no valid cookie.
   */
  visitorIn(
    request: Request,
    now: number,
  ): Visitor | undefined {
    const session = this.open(cookieIn(request, NAME), CONTEXT, now) as Session | undefined;
    return session && { ...session, isOld: now - session.begun >= RENEW_AFTER };
  }

  /**
   * The value of `Set-Cookie` that starts a session (BROWSER-1). `asked` are the scopes that the
   * issuer was asked for.
   */
  begin(
    { id, subject, issuer, client, scopes }: Principal,
    now: number,
    asked: readonly string[] = scopes,
  ): string {
    const who = { id, subject, ...(issuer && { issuer }), ...(client && { client }), scopes };
    const session: Session = { person: { ...who, claims: {} }, begun: now, asked };
    return this.cookie(NAME, session, CONTEXT, SESSION_TIME, now);
  }

  /** The value of `Set-Cookie` that ends a session. */
  end(): string {
    return this.remove(NAME);
  }

  /** A cookie without information: only its presence counts. */
  mark(name: string, ms: number): string {
    return `${name}=1; Max-Age=${ms / 1_000}; ${this.#attributes}`;
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
