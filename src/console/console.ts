/**
 * Serves the console below `/console`. Loaded on first use, so that a server without a console
 * loads nothing of it.
 *
 *     GET  /                 redirects to the console
 *     GET  /console          the page; it contains no data of the server
 *     GET  /console/open     exchanges the code of a link for a ticket, and redirects to the page
 *     POST /console/token    exchanges a ticket for a token
 *     GET  /console/sign-in  signs a person in, and redirects to the page
 *     GET  /console/frame    an empty document, in which the page draws the views of tools
 *     GET  /console/about    what the page shows of the server
 *     POST /console/link     a new link, for another tab
 *     *    /console/api/*    the calls; see `api.ts`
 */
import { nodeCrypto } from "../lib/sealer.ts";
import type { Gate } from "../server/access.ts";
import type { ServerCore } from "../server/core.ts";
import { noticePage } from "../server/html-page.ts";
import type { ParleyOptions } from "../server/options.ts";
import { CONSOLE_SCRIPT } from "../ui/console/built.ts";
import { type AboutConsole, consoleHtml, FRAME_HTML } from "../ui/console/document.ts";
import { CONSOLE_STYLE } from "../ui/console/style.ts";
import { CallsApi } from "./api.ts";
import { type ConsoleRefusal, type ConsoleVisitor, ConsoleVisitors } from "./access.ts";

const COMMON = {
  "cache-control": "no-store",
  // The URL of a link contains its code.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const API = "/console/api/";

/** Maximum length of a ticket, in characters. */
const MAX_BODY = 1_024;

/** Views of tools run in an opaque origin, and can load nothing. */
const FRAME_POLICY =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; frame-ancestors 'self'";

export class Console {
  readonly #core: ServerCore;
  readonly #visitors: ConsoleVisitors;
  readonly #mcpPath: string;
  readonly #hasAuth: boolean;
  readonly #onOpened: () => void;
  #page: Response | undefined;
  #api: CallsApi | undefined;

  constructor(core: ServerCore, options: ParleyOptions, gate: Gate | undefined) {
    const { console: given, publicUrl, path = "/mcp" } = options;
    const { token, onOpened = () => {} } = typeof given === "object" ? given : {};
    this.#core = core;
    this.#mcpPath = path;
    this.#hasAuth = gate !== undefined || options.principal !== undefined;
    this.#onOpened = onOpened;
    this.#visitors = new ConsoleVisitors({
      gate,
      token,
      publicUrl: () => typeof publicUrl === "function" ? publicUrl() : publicUrl,
      now: () => core.deadlines.now(),
    });
  }

  /** The path of a new link. */
  link(): string {
    return `/console/open?code=${this.#visitors.newCode()}`;
  }

  async serve(request: Request, path: string, isLocal: boolean): Promise<Response> {
    if (this.#core.closing) {
      return refused(503, "Cannot use the console: the server is shutting down; try again later");
    }
    const isGet = request.method === "GET" || request.method === "HEAD";
    // Addresses are relative, because a proxy may serve this server below a path of its own.
    switch (`${isGet ? "GET" : request.method} ${path}`) {
      case "GET /":
        return redirect("console");
      case "GET /console/":
        return redirect("../console");
      case "GET /console/open":
        return this.#open(request, isLocal);
      case "GET /console/sign-in": {
        const visitor = await this.#visitors.visitorOf(request, isLocal, "/console");
        return isVisitor(visitor) ? redirect("../console") : shown(visitor);
      }
      case "GET /console":
      case "GET /console/frame": {
        // On this machine the page is for everybody: it tells a person without a token what to do.
        const visitor = isLocal ? undefined : await this.#visitors.visitorOf(request, isLocal);
        if (visitor && !isVisitor(visitor)) return shown(visitor);
        return path === "/console" ? this.#shell(request) : frame();
      }
    }
    if (!this.#visitors.isOwn(request)) {
      return refused(
        403,
        "Cannot use the console: only its own page may use the console; open /console",
      );
    }
    if (path === "/console/token" && request.method === "POST" && isLocal) {
      return await this.#token(request);
    }
    const visitor = await this.#visitors.visitorOf(request, isLocal);
    return isVisitor(visitor)
      ? this.#serveVisitor(request, path, visitor, isLocal)
      : asJson(visitor);
  }

  close(): Promise<void> {
    this.#api?.close();
    return Promise.resolve();
  }

  /** Exchanges the code of a link for a ticket, which the page finds in its address. */
  #open(request: Request, isLocal: boolean): Response {
    // A browser that loads a page before the person opens it must not use up the link.
    const isEarly = /prefetch|prerender/.test(
      request.headers.get("sec-purpose") ?? request.headers.get("purpose") ?? "",
    );
    if (isEarly || request.method !== "GET") {
      return refused(
        503,
        "Cannot open the link: the browser is only preloading it; open it yourself",
      );
    }
    const code = new URL(request.url).searchParams.get("code") ?? "";
    const ticket = isLocal ? this.#visitors.ticketFor(code) : undefined;
    if (ticket === undefined) {
      return notice(
        403,
        "This link does not work",
        isLocal
          ? "It was used before, or the server has started again. Open the newest link that the terminal prints."
          : "Links open the console only on the machine of the server.",
      );
    }
    this.#onOpened();
    return redirect(`../console#ticket=${ticket}`);
  }

  async #token(request: Request): Promise<Response> {
    const token = this.#visitors.tokenFor(await startOf(request.body));
    return token === undefined
      ? refused(
        403,
        "Cannot use the console: the link was used before; open the newest link that the terminal prints",
      )
      : json({ token });
  }

  /** Answers a request of somebody who may use the console. */
  #serveVisitor(
    request: Request,
    path: string,
    visitor: ConsoleVisitor,
    isLocal: boolean,
  ): Response | Promise<Response> {
    const { mayAct, principal } = visitor;
    if (request.method !== "GET" && request.method !== "HEAD" && !mayAct) {
      return refused(
        403,
        "Cannot use the console: you may see calls, but not change them; ask for the scope console:act",
      );
    }
    if (path === "/console/link" && request.method === "POST") {
      return isLocal && !principal
        ? json({ link: this.link() })
        : refused(403, "Cannot use the console: people who signed in need no link; open /console");
    }
    if (path === "/console/about") return json(this.#about(visitor));
    if (path.startsWith(API)) {
      const { registry: { calls, report }, deadlines } = this.#core;
      this.#api ??= new CallsApi({ calls, deadlines, report });
      return this.#api.serve(request, path.slice(API.length), mayAct);
    }
    return refused(404, `Cannot find "${path}": there is no such path; open /console`);
  }

  #about({ name, mayAct, principal }: ConsoleVisitor): AboutConsole {
    const { info, registry } = this.#core;
    return {
      server: { name: info.name, version: info.version, ...(info.title && { title: info.title }) },
      visitor: { name, mayAct, signedIn: principal !== undefined },
      needsToken: this.#hasAuth,
      hasModel: registry.sampling?.provider !== undefined,
      mcp: this.#mcpPath,
    };
  }

  #shell(request: Request): Response {
    this.#page ??= new Response(consoleHtml(CONSOLE_SCRIPT, CONSOLE_STYLE), {
      headers: {
        ...COMMON,
        "content-type": "text/html; charset=utf-8",
        "x-frame-options": "DENY",
        "content-security-policy": `default-src 'none'; script-src ${
          digest(CONSOLE_SCRIPT)
        }; style-src ${
          digest(CONSOLE_STYLE)
        }; connect-src 'self'; frame-src 'self'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
      },
    });
    const page = this.#page.clone();
    return request.method === "HEAD" ? new Response(null, page) : page;
  }
}

/** Reads the start of a body. A longer body cannot be a ticket. */
async function startOf(body: Request["body"]): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_BODY) break;
  }
  return text;
}

function isVisitor(found: ConsoleVisitor | ConsoleRefusal | Response): found is ConsoleVisitor {
  return "mayAct" in found;
}

/** A refusal, for a person. */
function shown(refusal: ConsoleRefusal | Response): Response {
  if (refusal instanceof Response) return refusal;
  return notice(refusal.status, "You may not use the console", refusal.reason);
}

/** A refusal, for the script of the page. */
function asJson(refusal: ConsoleRefusal | Response): Response {
  if (refusal instanceof Response) return refusal;
  return json({ error: { code: refusal.status, message: refusal.reason } }, refusal.status);
}

function refused(status: number, message: string): Response {
  return json({ error: { code: status, message } }, status);
}

function notice(status: number, title: string, text: string): Response {
  return noticePage(status, title, text, COMMON);
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...COMMON, "content-type": "application/json" },
  });
}

function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { ...COMMON, location } });
}

function frame(): Response {
  return new Response(FRAME_HTML, {
    headers: {
      ...COMMON,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": FRAME_POLICY,
    },
  });
}

function digest(text: string): string {
  return `'sha256-${nodeCrypto().createHash("sha256").update(text).digest("base64")}'`;
}
