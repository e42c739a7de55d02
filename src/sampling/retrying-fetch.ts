/**
 * How requests to a model are sent: with a time limit, again where that may
 * help, and never longer than anybody waits for the answer. Libraries that know
 * the wire formats get this as their `fetch`, so that all of them fail alike.
 *
 * What goes wrong becomes a `ModelFailure`, whose message tells what to do. It
 * never holds a key, nor more than a line of what the other side said.
 */
import type { Clock } from "../lib/clock.ts";
import { badAnswer, ModelFailure, refused, tooSlow, unreachable } from "./failure.ts";

export interface RetryPolicy {
  /** Milliseconds for one try, from the request to the last byte of the answer. */
  readonly timeout: number;
  /** How often to try again. */
  readonly retries: number;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
}

/** Who is asked, as errors name it. */
export interface Subject {
  /** Such as `openai:gpt-5`. */
  readonly name: string;
  readonly model: string;
  readonly url: string;
  /** The variable that holds the key, for whoever has to look. */
  readonly keyVariable: string | undefined;
  /** Never shown. */
  readonly key: string | undefined;
}

/** No answer of a model is longer. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Between the first try and the second; then twice that, and so on. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** Whoever asks us to wait longer than this might as well have refused. */
const LONGEST_WISH = 30_000;

/** A `fetch` for one sample. It ends when `signal` does. */
export function retryingFetch(
  subject: Subject,
  patience: RetryPolicy,
  signal: AbortSignal,
): typeof fetch {
  const send = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    for (let tries = 0;; tries++) {
      const isLast = tries >= patience.retries;
      // Never quite the same, or everyone who was sent away would come back at once.
      let pause = Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE) * (1 + Math.random() / 4);
      try {
        const got = await sendOnce(subject, patience, signal, input, init);
        if (got.status >= 200 && got.status < 300) return answer(subject, got);
        const failure = refused(subject, got.status, got.text);
        const wish = wishedPause(got.headers.get("retry-after"), patience.clock.now());
        if (isLast || !failure.isPassing || (wish ?? 0) > LONGEST_WISH) throw failure;
        pause = wish ?? pause;
      } catch (error) {
        if (isLast || !(error instanceof Dropped)) {
          throw error instanceof Dropped ? unreachable(subject, error.cause) : error;
        }
      }
      await wait(pause, patience.clock, signal);
    }
  };
  return send as typeof fetch;
}

/** The connection could not be made, or did not hold. */
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
  let isLate = false;
  const disarm = clock.after(timeout, () => {
    isLate = true;
    controller.abort();
  });
  try {
    // A redirect would take the key to who knows where.
    const response = await fetch(input, {
      ...init,
      signal: controller.signal,
      redirect: "manual",
    });
    const text = await readText(subject, response);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    signal.throwIfAborted();
    if (isLate) throw tooSlow(subject, timeout);
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
    if (bytes > MOST_BYTES) throw badAnswer(subject, "is far too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Only JSON is handed on: what else libraries would do with it differs. */
function answer(subject: Subject, { status, headers, text }: Got): Response {
  if (text.trim() === "") throw badAnswer(subject, "is empty");
  try {
    JSON.parse(text);
  } catch {
    const type = headers.get("content-type") ?? "";
    const isPage = type.includes("html") || /^\s*<(?:!doctype|html)/i.test(text);
    throw badAnswer(subject, isPage ? "is a web page" : "is no JSON");
  }
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}

/** What the other side asks us to wait: seconds, or a date. */
function wishedPause(header: string | null, now: number): number | undefined {
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
