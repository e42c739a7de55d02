/** Asks the server, as a browser does, whether web pages may call it. */
import type { Operation } from "effection";
import { type Answer, ask, type Finding, NoAnswer } from "./probe.ts";

/** The request headers that clients in web pages send. */
const SENT = ["authorization", "content-type", "mcp-protocol-version", "mcp-session-id"];
/** The response headers that these clients read. */
const READ = ["mcp-session-id", "www-authenticate"];

const PROXY = "let the proxy pass OPTIONS requests and CORS headers through unchanged";

/**
 * Sends a preflight request for web pages of `origin`. If `origin` is undefined, uses the server's
 * own origin, and a refusal is only a warning.
 */
export function* corsFinding(
  url: URL,
  origin: string | undefined,
  patience: number,
): Operation<Finding> {
  const page = origin ?? url.origin;
  let answer: Answer;
  try {
    answer = yield* ask(url, preflight(page), patience);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const message = `The preflight of a web page failed: ${error.message}`;
    return { check: "cors", status: "problem", message, remedy: PROXY };
  }
  const { status, headers } = answer;
  if (status === 401) {
    const message =
      "The server refuses preflight requests without a token, but browsers never send one";
    return { check: "cors", status: "problem", message, remedy: PROXY };
  }
  const allowed = headers.get("access-control-allow-origin");
  if (status >= 400 || (allowed !== page && allowed !== "*")) {
    return {
      check: "cors",
      status: origin === undefined ? "warning" : "problem",
      message: `Web pages from ${page} may not call the server`,
      remedy: `use --allow-origin ${page} if these pages should call the server`,
    };
  }
  const missing = [
    ...SENT.filter((name) => !names(headers, "access-control-allow-headers").includes(name))
      .map((name) => `send ${name}`),
    ...READ.filter((name) => !names(headers, "access-control-expose-headers").includes(name))
      .map((name) => `read ${name}`),
  ];
  if (missing.length > 0) {
    const message = `Web pages may not use some headers: ${missing.join(", ")}`;
    return { check: "cors", status: "problem", message, remedy: PROXY };
  }
  return { check: "cors", status: "ok", message: `Web pages from ${page} may call the server` };
}

function preflight(origin: string): RequestInit {
  return {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": SENT.join(", "),
    },
  };
}

function names(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? "").toLowerCase().split(",").map((one) => one.trim());
}
