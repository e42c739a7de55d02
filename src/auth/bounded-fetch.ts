/**
 * A `fetch` for requests to authorization servers. Responses are limited in size and time, and
 * redirects are not followed: the operator configured the address, and no other is trusted.
 */
import type { Clock } from "../lib/clock.ts";
import { readAtMost } from "../lib/read-at-most.ts";
import { IssuerProblem } from "./refusal.ts";

/** Maximum size of a response. It is much larger than any key set or metadata document in use. */
const MAX_BYTES = 256 * 1024;
/** Milliseconds from the request to the last byte of the response. */
const TIMEOUT = 3_000;

export interface Reach {
  readonly clock: Clock;
  /** Aborts when the server closes. */
  readonly signal: AbortSignal;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export async function boundedFetch(
  { clock, signal, fetch: send = fetch }: Reach,
  url: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = () => controller.abort(signal.reason);
  signal.addEventListener("abort", stop);
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const disarm = clock.after(TIMEOUT, () => {
    late.reject(new IssuerProblem(`it did not answer within ${TIMEOUT} ms`));
    controller.abort();
  });
  try {
    const answered = send(url, { ...init, signal: controller.signal, redirect: "manual" })
      .then(bounded);
    answered.catch(() => {});
    return await Promise.race([answered, late.promise]);
  } finally {
    disarm();
    signal.removeEventListener("abort", stop);
    // Also stops the download of a response that is too large.
    controller.abort();
  }
}

/** Reads the whole body. Throws if the body exceeds the limit, or if the response is a redirect. */
async function bounded(response: Response): Promise<Response> {
  const { status, headers, body } = response;
  if (status >= 300 && status < 400) throw new IssuerProblem("it redirects to another address");
  const bytes = await readAtMost(body, MAX_BYTES);
  if (!bytes) throw new IssuerProblem(`its answer is larger than ${MAX_BYTES} bytes`);
  const type = headers.get("content-type");
  return new Response(bytes.length > 0 ? new Blob([bytes]) : null, {
    status,
    headers: type === null ? {} : { "content-type": type },
  });
}
