/**
 * A `fetch` for requests to models, with a timeout and retries. It stops when the caller stops
 * waiting. All provider libraries use it as their `fetch`, so that all providers fail in the same
 * way.
 *
 * Failures become a `ModelFailure`, whose message says what to do next. The message never
 * contains a key, and quotes at most one line of the response.
 */
import type { Clock } from "../lib/clock.ts";
import { badAnswer, ModelFailure, refused, timedOut, unreachable } from "./failure.ts";

export interface RetryPolicy {
  /** Milliseconds for one attempt, from the request to the last byte of the response. */
  readonly timeout: number;
  /** The number of retries after a failed attempt. */
  readonly retries: number;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
}

/** The model that is asked, for error messages. */
export interface Subject {
  /** For example `openai:gpt-5`. */
  readonly name: string;
  readonly model: string;
  readonly url: string;
  /** The environment variable that holds the key, for the operator. */
  readonly keyVariable: string | undefined;
  /** The API key. It must never be shown. */
  readonly key: string | undefined;
}

/** The maximum size of a response, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
/** The delay before the first retry, in milliseconds. It doubles with each further retry. */
const FIRST_DELAY = 500;
const MAX_DELAY = 8_000;
/** The longest `Retry-After` to wait for, in milliseconds. If it is longer, the request fails. */
const MAX_RETRY_AFTER = 30_000;

/** Returns a `fetch` for one sampling request. It stops when `signal` aborts. */
export function retryingFetch(
  subject: Subject,
  policy: RetryPolicy,
  signal: AbortSignal,
): typeof fetch {
  const send = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    for (let tries = 0;; tries++) {
      const isLast = tries >= policy.retries;
      // Add jitter, so that rejected clients do not all retry at the same moment.
      let delay = Math.min(FIRST_DELAY * 2 ** tries, MAX_DELAY) * (1 + Math.random() / 4);
      try {
        const got = await sendOnce(subject, policy, signal, input, init);
        if (got.status >= 200 && got.status < 300) return answer(subject, got);
        const failure = refused(subject, got.status, got.text);
        const requested = retryAfterMs(got.headers.get("retry-after"), policy.clock.now());
        if (isLast || !failure.isTemporary || (requested ?? 0) > MAX_RETRY_AFTER) throw failure;
        delay = requested ?? delay;
      } catch (error) {
        if (isLast || !(error instanceof Dropped)) {
          throw error instanceof Dropped ? unreachable(subject, error.cause) : error;
        }
      }
      await wait(delay, policy.clock, signal);
    }
  };
  return send as typeof fetch;
}

/** The connection failed, or broke before the end of the response. */
class Dropped extends Error {}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function sendOnce(
  subject: Subject,
  { timeout, clock, fetch }: RetryPolicy,
  signal: AbortSignal,
  input: RequestInfo | URL,
  init: RequestInit,
): Promise<Got> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = () => controller.abort(signal.reason);
  signal.addEventListener("abort", stop);
  let hasTimedOut = false;
  const disarm = clock.after(timeout, () => {
    hasTimedOut = true;
    controller.abort();
  });
  try {
    // Do not follow redirects: they could send the key to another server.
    const response = await fetch(input, {
      ...init,
      signal: controller.signal,
      redirect: "manual",
    });
    const text = await readText(subject, response);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    signal.throwIfAborted();
    if (hasTimedOut) throw timedOut(subject, timeout);
    if (error instanceof ModelFailure) throw error;
    throw new Dropped("", { cause: error });
  } finally {
    disarm();
    signal.removeEventListener("abort", stop);
  }
}

async function readText(subject: Subject, { body }: Response): Promise<string> {
  if (!body) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) {
      throw badAnswer(subject, `is longer than ${MAX_BYTES / 1024 / 1024} MiB`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Returns the response if it is JSON, and throws otherwise: each library would treat other content
 * differently.
 */
function answer(subject: Subject, { status, headers, text }: Got): Response {
  if (text.trim() === "") throw badAnswer(subject, "is empty");
  try {
    JSON.parse(text);
  } catch {
    const type = headers.get("content-type") ?? "";
    const isPage = type.includes("html") || /^\s*<(?:!doctype|html)/i.test(text);
    throw badAnswer(subject, isPage ? "is a web page" : "is not JSON");
  }
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}

/** Returns the delay of a `Retry-After` header, which holds seconds or a date. */
function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      disarm();
      reject(signal.reason);
    };
    const disarm = clock.after(ms, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
