/**
 * Checks the headers of the pages on which people answer. They keep other sites from framing a page,
 * and from reading its address. A proxy must not remove or replace them.
 */
import type { Operation } from "effection";
import { ask, type Finding, NoAnswer } from "./probe.ts";

/** The text that each header must contain. */
const NEEDED: readonly (readonly [name: string, content: RegExp])[] = [
  ["content-security-policy", /(?=.*default-src 'none')(?=.*frame-ancestors 'none')/],
  ["x-content-type-options", /^nosniff$/i],
  ["referrer-policy", /^(?:same-origin|no-referrer)$/i],
  ["cache-control", /no-store/],
];

/** A page that does not exist. The answer has the headers of every page. */
const PAGE = "/pages/doctor";

export function* pageFinding(url: URL, patience: number): Operation<Finding> {
  const check = "pages";
  let headers: Headers;
  try {
    const answer = yield* ask(new URL(PAGE, url), { headers: { accept: "text/html" } }, patience);
    if (answer.status !== 404 || !answer.headers.get("content-type")?.includes("text/html")) {
      return {
        check,
        status: "skipped",
        message:
          "The headers of pages were not checked, because the server does not seem to serve pages",
      };
    }
    ({ headers } = answer);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return {
      check,
      status: "problem",
      message:
        `Pages on which people answer cannot be reached at ${url.origin}${PAGE}: ${error.message}`,
      remedy: "let the proxy forward /pages and the paths below it to the server",
    };
  }
  const wrong = NEEDED.filter(([name, content]) => !content.test(headers.get(name) ?? ""))
    .map(([name]) => name);
  if (wrong.length === 0) {
    return {
      check,
      status: "ok",
      message: "The pages on which people answer have all headers that protect them",
    };
  }
  return {
    check,
    status: "problem",
    message: `Pages on which people answer arrive without the headers of the server: ${
      wrong.join(", ")
    }`,
    remedy: "forward /pages to the server, and let the proxy pass these headers through unchanged",
  };
}
