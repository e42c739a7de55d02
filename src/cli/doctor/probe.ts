/**
 * Sends the requests of `parley doctor`, with limits on time and size. Defines the result of a
 * check.
 */
import {
  createContext,
  type Operation,
  race,
  scoped,
  sleep,
  until,
  useAbortSignal,
} from "effection";
import type { Trust } from "../../platform/trust.ts";
import { parseJson } from "../../lib/json.ts";
import { messageOf } from "../../lib/message-of.ts";

/** The result of one check. */
export interface Finding {
  /** What was checked, such as `tls` or `clock`. */
  readonly check: string;
  /** Only a problem makes the command fail. */
  readonly status: "ok" | "warning" | "problem" | "skipped";
  readonly message: string;
  /** What the person can do about it. */
  readonly remedy?: string;
}

/** Splits a message of the form "Cannot …: state; next step" before the next step. */
export function splitMessage(message: string): Pick<Finding, "message" | "remedy"> {
  const at = message.lastIndexOf("; ");
  return at < 0 ? { message } : { message: message.slice(0, at), remedy: message.slice(at + 2) };
}

/** Additional certificate authorities that all requests trust. */
export const ExtraTrust = createContext<Trust>("parley-doctor-trust", {});

export interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  /** The body, as far as it was read. */
  readonly text: string;
  /** The body, or the first message of a stream, as JSON. Undefined if it is not JSON. */
  readonly json: unknown;
  /**
   * Milliseconds by which the server's clock is ahead of this machine's. Undefined without a `Date`
   * header.
   */
  readonly ahead: number | undefined;
}

/** Thrown if there was no answer. The message says why. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

const MAX_CHARACTERS = 256 * 1024;

/** Sends a request. Throws `NoAnswer` if the response is not complete within `patience` ms. */
export function* ask(url: URL, init: RequestInit, patience: number): Operation<Answer> {
  return yield* race([exchange(url, init), late(patience)]);
}

function* late(patience: number): Operation<never> {
  yield* sleep(patience);
  throw new NoAnswer(`it did not answer within ${patience / 1_000} seconds`);
}

/**
 * Sends the request and reads the response. The connection is closed when the operation ends or is
 * halted.
 */
function exchange(url: URL, init: RequestInit): Operation<Answer> {
  return scoped(function* () {
    const signal = yield* useAbortSignal();
    const trust = yield* ExtraTrust.expect();
    const sent = Date.now();
    try {
      const request = { ...init, ...trust, signal, redirect: "manual" } as const;
      const response = yield* until(fetch(url, request));
      const ahead = aheadOf(response.headers, sent, Date.now());
      const text = yield* until(textOf(response));
      const { status, headers } = response;
      return { url, status, headers, text, json: parseJson(dataIn(text)), ahead };
    } catch (error) {
      throw new NoAnswer(reasonOf(error));
    }
  });
}

/**
 * How far the server's clock is ahead. Ignores a difference that could come from rounding in
 * `Date`, which has whole seconds, or from the duration of the request.
 */
function aheadOf(headers: Headers, sent: number, received: number): number | undefined {
  const date = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(date)) return undefined;
  const made = date + 1_000 * Number(headers.get("age") ?? 0);
  if (made > received) return made - received;
  return Math.min(0, made + 1_000 - sent);
}

/** Reads a body to its end, or a stream to its first message. Stops at the limit. */
async function textOf({ body, headers }: Response): Promise<string> {
  const isStream = headers.get("content-type")?.startsWith("text/event-stream");
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (reader && text.length < MAX_CHARACTERS) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (isStream && /^data:.*\n\r?\n/m.test(text)) break;
  }
  await reader?.cancel();
  return text;
}

/** The data of the first event in a stream. Returns any other text unchanged. */
function dataIn(text: string): string {
  return /^data: ?(.+)$/m.exec(text)?.[1] ?? text;
}

/** The cause of a failed request. Some runtimes hide it behind "fetch failed". */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const text = messageOf(cause ?? error);
  if (/ECONNREFUSED|Connection refused/i.test(text)) return "nothing listens there";
  if (/CERT_ALTNAME_INVALID|NotValidForName/.test(text)) {
    return "the certificate is for another host name";
  }
  return text.replace(/^.*client error \(Connect\): /, "")
    .replace(/(?: fetching ".*"\.)? For more information, pass .*$/, "");
}
