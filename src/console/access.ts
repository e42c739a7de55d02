/**
 * Who may use the console.
 *
 * CONSOLE-1  On this machine, a person opens a link that the terminal prints. The link works once.
 *            It leads to a ticket, which also works once, and the ticket to a token. The page sends
 *            the token as a header. The server keeps hashes of these secrets, in memory.
 * CONSOLE-2  From elsewhere, only callers that have signed in may use the console, with the scope
 *            `console:read`, and `console:act` to change something.
 * CONSOLE-3  Pages of other origins cannot use the console, whatever they send.
 */
import { nodeCrypto } from "../lib/sealer.ts";
import type { Principal } from "../model/principal.ts";
import type { Gate } from "../server/access.ts";

/** The header with the token of a page. It is not a cookie: all ports of a host share cookies. */
export const TOKEN_HEADER = "x-parley-console";

export const READ_SCOPE = "console:read";
export const ACT_SCOPE = "console:act";

/** Milliseconds after which an unused token expires. */
const TOKEN_TIME = 12 * 3_600_000;
/** Milliseconds between the redirect to the page and the page's first request. */
const TICKET_TIME = 60_000;
/** How many links, tickets and tokens are valid at once. Beyond that, the oldest expires. */
const MAX_SECRETS = 100;

/** A person or program that may use the console. */
export interface ConsoleVisitor {
  /** The name of the visitor, for people. */
  readonly name: string;
  /** The caller. Undefined for a visitor with the token of a link. */
  readonly principal: Principal | undefined;
  /** False if the visitor may only look. */
  readonly mayAct: boolean;
}

/** The visitor with the token of a link: somebody who can read the server's terminal. */
const OPERATOR: ConsoleVisitor = { name: "operator", principal: undefined, mayAct: true };

export interface ConsoleVisitorsParts {
  readonly gate: Gate | undefined;
  /** A fixed token for programs. Default: none. */
  readonly token: string | undefined;
  /** The URL at which browsers reach the server, as far as it is known. */
  publicUrl(): string | undefined;
  now(): number;
}

/** Why a request is refused. */
export interface ConsoleRefusal {
  readonly status: 401 | 403;
  /** A sentence for the person. */
  readonly reason: string;
}

export class ConsoleVisitors {
  readonly #parts: ConsoleVisitorsParts;
  readonly #fixed: string | undefined;
  readonly #links: Secrets;
  readonly #tickets: Secrets;
  readonly #tokens: Secrets;

  constructor(parts: ConsoleVisitorsParts) {
    const { token, now } = parts;
    this.#parts = parts;
    this.#fixed = token === undefined ? undefined : hashOf(token);
    this.#links = new Secrets(Infinity, now);
    this.#tickets = new Secrets(TICKET_TIME, now);
    this.#tokens = new Secrets(TOKEN_TIME, now);
  }

  /** A code for a new link. It is valid until it is used, or the server ends. */
  newCode(): string {
    return this.#links.add();
  }

  /** Exchanges the code of a link for a ticket (CONSOLE-1). Undefined if the code is not valid. */
  ticketFor(code: string): string | undefined {
    return this.#links.take(code) ? this.#tickets.add() : undefined;
  }

  /** Exchanges a ticket for a token (CONSOLE-1). Undefined if the ticket is not valid. */
  tokenFor(ticket: string): string | undefined {
    return this.#tickets.take(ticket) ? this.#tokens.add() : undefined;
  }

  /** True if a request comes from the console's own page, or from a program (CONSOLE-3). */
  isOwn({ headers, url }: Request): boolean {
    const site = headers.get("sec-fetch-site");
    if (site !== null && site !== "same-origin") return false;
    const origin = headers.get("origin");
    if (origin === null) return true;
    const host = headers.get("host") ?? new URL(url).host;
    const known = this.#parts.publicUrl();
    return origin === `http://${host}` || origin === `https://${host}` ||
      known !== undefined && origin === new URL(known).origin;
  }

  /**
   * The visitor that sent a request, or why it is refused. A `Response` asks the visitor to sign in.
   * `isLocal` is true if the request was sent on this machine. `signInFor` is the
   * page for which the visitor signs in again, for example with more scopes.
   */
  async visitorOf(
    request: Request,
    isLocal: boolean,
    signInFor?: string,
  ): Promise<ConsoleVisitor | ConsoleRefusal | Response> {
    const token = request.headers.get(TOKEN_HEADER);
    // CONSOLE-1
    if (token !== null && isLocal) {
      const isKnown = hashOf(token) === this.#fixed || this.#tokens.use(token);
      return isKnown ? OPERATOR : {
        status: 401,
        reason:
          "Cannot open the console: the token is unknown or has expired; open the link that the terminal prints",
      };
    }
    const { gate } = this.#parts;
    if (!gate) return withoutToken(isLocal);
    // CONSOLE-2
    const found = await gate.visitorOf(request, false, {
      scopes: [READ_SCOPE, ACT_SCOPE],
      ...(signInFor !== undefined && { again: signInFor }),
    });
    if (found instanceof Response) return found;
    if (!gate.access.hasScopes(found, [READ_SCOPE])) {
      return {
        status: 403,
        reason:
          `Cannot open the console: ${found.subject} lacks the scope ${READ_SCOPE}; ask the operator of the server for it, then sign in again at /console/sign-in`,
      };
    }
    return {
      name: found.subject,
      principal: found,
      mayAct: gate.access.hasScopes(found, [ACT_SCOPE]),
    };
  }
}

function withoutToken(isLocal: boolean): ConsoleRefusal {
  return isLocal
    ? {
      status: 401,
      reason:
        "Cannot open the console: the request has no token; open the link that the terminal prints",
    }
    : {
      status: 403,
      reason:
        "Cannot open the console: from other machines it is only for people who sign in, and this server has no sign-in; open it on the server's machine, or configure --auth-issuer",
    };
}

/** Random secrets that expire. Only their hashes are kept. */
class Secrets {
  readonly #time: number;
  readonly #now: () => number;
  /** When each secret expires, by its hash, the oldest first. */
  readonly #expiries = new Map<string, number>();

  constructor(time: number, now: () => number) {
    this.#time = time;
    this.#now = now;
  }

  add(): string {
    const secret = nodeCrypto().randomBytes(24).toString("base64url");
    this.#keep(hashOf(secret));
    const [oldest] = this.#expiries.keys();
    if (this.#expiries.size > MAX_SECRETS) this.#expiries.delete(oldest!);
    return secret;
  }

  /** True if the secret is valid. It can be used only once. */
  take(secret: string): boolean {
    const hash = hashOf(secret);
    const expiry = this.#expiries.get(hash);
    return this.#expiries.delete(hash) && this.#now() < expiry!;
  }

  /** True if the secret is valid. Each use delays its expiry. */
  use(secret: string): boolean {
    if (!this.take(secret)) return false;
    this.#keep(hashOf(secret));
    return true;
  }

  #keep(hash: string): void {
    this.#expiries.set(hash, this.#now() + this.#time);
  }
}

function hashOf(secret: string): string {
  return nodeCrypto().createHash("sha256").update(secret).digest("base64");
}
