/** The checks of `parley doctor URL`: the server as clients see it, through all proxies. */
import { type Operation, race, scoped, sleep, until, useAbortSignal } from "effection";
import type { HeaderLines } from "../../client/http.ts";
import { isObject } from "../../lib/json.ts";
import type { Trust } from "../../platform/trust.ts";
import { isLoopback } from "../../server/guard.ts";
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  PROTOCOL_VERSION,
  SERVER_INFO,
} from "../../wire/modern/meta.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import { certificateFinding, trustFinding } from "./certificate.ts";
import { clockFindings } from "./clock.ts";
import { corsFinding } from "./cors.ts";
import { pageFinding } from "./pages.ts";
import { type Answer, ask, ExtraTrust, type Finding, NoAnswer, reasonOf } from "./probe.ts";
import { signInFindings } from "./sign-in.ts";

export interface RemoteOptions {
  readonly url: URL;
  /** Headers that are sent to this server only. */
  readonly headers: HeaderLines;
  /** The origin of web pages that must be able to call the server. */
  readonly origin?: string | undefined;
  /** Certificate authorities to trust, besides those of the system. */
  readonly trust?: Trust | undefined;
  /** The version of this program. */
  readonly version: string;
  /** Milliseconds to wait for each answer. Default: 5000. */
  readonly patience?: number;
  /** Milliseconds to wait for the first part of a stream. Default: 5000. */
  readonly streamPatience?: number;
  /** Milliseconds for all checks together. Default: 45000. */
  readonly total?: number;
}

/** Receives findings as soon as they are known. */
export type Report = (...findings: readonly Finding[]) => void;

const PATIENCE = 5_000;
const TOTAL = 45_000;

export function* examineServer(options: RemoteOptions, report: Report): Operation<void> {
  yield* ExtraTrust.with(options.trust ?? {}, function* () {
    yield* race([examine(options, report), outOfTime(options, report)]);
  });
}

function* outOfTime({ total = TOTAL }: RemoteOptions, report: Report): Operation<void> {
  yield* sleep(total);
  report({
    check: "time",
    status: "problem",
    message: `The checks were not complete after ${total / 1_000} seconds`,
    remedy: "check why the server is slow, and run the command again",
  });
}

function* examine(options: RemoteOptions, report: Report): Operation<void> {
  const { url, patience = PATIENCE } = options;
  const answer = yield* firstAnswer(options, patience, report);
  if (!answer) return;
  const server = serverFinding(answer, options);
  report(server);
  report(yield* readinessFinding(url, patience));
  report(yield* corsFinding(url, options.origin, patience));
  report(yield* pageFinding(url, patience));
  const { findings, clocks } = yield* signInFindings(answer, options.headers, patience);
  report(...findings);
  report(...clockFindings([{ who: "the server", ahead: answer.ahead }, ...clocks]));
  if (server.status !== "problem" && answer.status === 200) {
    report(yield* streamFinding(options));
  } else {
    report({
      check: "streams",
      status: "skipped",
      message: "Streams were not checked, because the server refuses the request",
      remedy: 'pass credentials with --header "Authorization: Bearer …"',
    });
  }
}

/**
 * The server's answer to the first request. Undefined if there is none, or if it redirects to
 * another address. The report says why.
 */
function* firstAnswer(
  options: RemoteOptions,
  patience: number,
  report: Report,
): Operation<Answer | undefined> {
  const { url } = options;
  const isSecure = url.protocol === "https:";
  const certificate = isSecure && (yield* certificateFinding(url, patience, Date.now()));
  if (certificate) report(certificate);
  let answer: Answer;
  try {
    answer = yield* ask(url, requestOf("server/discover", {}, options), patience);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    report(
      isSecure && trustFinding(error.message) || {
        check: "connection",
        status: "problem",
        message: `There is no answer from ${url.origin}: ${error.message}`,
        remedy: "check the address, the server and its proxy",
      },
    );
    return undefined;
  }
  if (answer.status >= 300 && answer.status < 400) {
    const to = URL.parse(answer.headers.get("location") ?? "", url);
    report({
      check: "connection",
      status: "problem",
      message: `${url.origin}${url.pathname} redirects${
        to ? ` to ${to.origin}${to.pathname}` : ""
      }`,
      remedy: "use the address that the server redirects to, and check that address",
    });
    return undefined;
  }
  report(isSecure ? hstsFinding(answer) : plainFinding(url));
  return answer;
}

function plainFinding({ host }: URL): Finding {
  if (isLoopback(host)) {
    return {
      check: "tls",
      status: "skipped",
      message: "The connection is not encrypted, which is fine on this machine",
    };
  }
  return {
    check: "tls",
    status: "problem",
    message:
      "The connection is not encrypted: everybody on the network path can read tokens and answers",
    remedy: "put a proxy with TLS in front of the server, and use an https address",
  };
}

function hstsFinding({ headers }: Answer): Finding {
  if (headers.has("strict-transport-security")) {
    return { check: "headers", status: "ok", message: "The server tells browsers to use only TLS" };
  }
  return {
    check: "headers",
    status: "warning",
    message: "The server does not tell browsers to use only TLS",
    remedy: "let the proxy send Strict-Transport-Security: max-age=31536000",
  };
}

function serverFinding(answer: Answer, { url, headers, version }: RemoteOptions): Finding {
  const { status, json } = answer;
  const result = isObject(json) && isObject(json.result) ? json.result : undefined;
  if (status === 200 && result) {
    const meta = isObject(result._meta) ? result._meta[SERVER_INFO] : undefined;
    const { name, version: theirs } = isObject(meta) ? meta : {} as { [name: string]: unknown };
    const what = name === undefined ? "an MCP server" : `${name} ${theirs ?? ""}`.trim();
    const message = `The server is ${what}; this program is Parley ${version}`;
    const isSignedIn = Object.keys(headers).some((one) => one.toLowerCase() === "authorization");
    if (isLoopback(url.host) || isSignedIn) return { check: "server", status: "ok", message };
    return {
      check: "server",
      status: "warning",
      message: `${message}. Everybody who can connect can call it without signing in`,
      remedy: "use --auth-issuer or --token-file, unless that is intended",
    };
  }
  if (status === 401) return unauthorized(headers);
  const error = isObject(json) && isObject(json.error) ? String(json.error.message) : "";
  return {
    check: "server",
    status: "problem",
    message: `The server answers with HTTP status ${status}${
      error ? `: ${error.slice(0, 500)}` : ", and not as an MCP server of revision 2026-07-28"
    }`,
    remedy: error ? "follow the message" : "check the path of the address, and the proxy",
  };
}

function unauthorized(headers: HeaderLines): Finding {
  if (!Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) {
    return { check: "server", status: "ok", message: "The server asks callers to sign in" };
  }
  return {
    check: "server",
    status: "problem",
    message: "The server refuses the credentials of --header",
    remedy:
      "get a new token; the findings on sign-in say whether its audience and issuer are right",
  };
}

/** Asks `/readyz` whether the server can write to its store. */
function* readinessFinding(url: URL, patience: number): Operation<Finding> {
  const check = "store";
  try {
    const { status, json } = yield* ask(new URL("/readyz", url), {}, patience);
    const { status: word, checks } = isObject(json) ? json : {} as { [name: string]: unknown };
    if (status === 200 && word === "ready") {
      return { check, status: "ok", message: "The server can accept calls and record them" };
    }
    if (status === 503) {
      const failed = Object.entries(isObject(checks) ? checks : {})
        .filter(([, value]) => value !== "ok").map(([name]) => name);
      return {
        check,
        status: "problem",
        message: failed.length > 0
          ? `The server is not ready: the check of ${failed.join(", ")} fails`
          : "The server is not ready",
        remedy: "read the server's log, which says why",
      };
    }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  return {
    check,
    status: "skipped",
    message: "Readiness was not checked, because /readyz is not reachable from here",
  };
}

// Checks of streams.

/**
 * Opens a stream that stays open. Its first message arrives at once, unless a proxy buffers the
 * stream.
 */
function* streamFinding(options: RemoteOptions): Operation<Finding> {
  const { streamPatience = PATIENCE } = options;
  const check = "streams";
  const first = yield* race([firstPart(options), nothing(streamPatience)]);
  if (first === undefined) {
    return {
      check,
      status: "problem",
      message: `No part of a stream arrived within ${
        streamPatience / 1_000
      } seconds: a proxy collects responses before it passes them on`,
      remedy:
        "turn off response buffering in the proxy for the path of the server; in nginx: proxy_buffering off",
    };
  }
  if ("failed" in first) {
    return {
      check,
      status: "problem",
      message: `A stream cannot be opened: ${first.failed}`,
      remedy: "check the proxy's timeouts and its log",
    };
  }
  if (first.encoding !== null) {
    return {
      check,
      status: "warning",
      message: `Streams are compressed (${first.encoding}), which can delay messages`,
      remedy: "turn off compression in the proxy for text/event-stream",
    };
  }
  return { check, status: "ok", message: "Streams arrive in parts, without delay" };
}

function* nothing(ms: number): Operation<undefined> {
  yield* sleep(ms);
  return undefined;
}

type FirstPart = { readonly encoding: string | null } | { readonly failed: string };

function firstPart(options: RemoteOptions): Operation<FirstPart> {
  return scoped(function* () {
    const signal = yield* useAbortSignal();
    const request = requestOf("subscriptions/listen", { notifications: {} }, options);
    try {
      const trust = yield* ExtraTrust.expect();
      const whole = { ...request, ...trust, signal, redirect: "manual" } as const;
      const response = yield* until(fetch(options.url, whole));
      const reader = response.body?.getReader();
      const { done = true } = reader ? yield* until(reader.read()) : {};
      const { headers, status } = response;
      const isStream = headers.get("content-type")?.startsWith("text/event-stream");
      if (!isStream) return { failed: `the answer has HTTP status ${status} and is not a stream` };
      return done ? { failed: "it ended at once" } : { encoding: headers.get("content-encoding") };
    } catch (error) {
      return { failed: reasonOf(error) };
    }
  });
}

function requestOf(
  method: string,
  params: { readonly [name: string]: unknown },
  { headers, version }: RemoteOptions,
): RequestInit {
  const _meta = {
    [PROTOCOL_VERSION]: MODERN_VERSION,
    [CLIENT_INFO]: { name: "parley doctor", version },
    [CLIENT_CAPABILITIES]: {},
  };
  return {
    method: "POST",
    headers: {
      ...headers,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": MODERN_VERSION,
      "mcp-method": method,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  };
}
