/**
 * `fetch` for untrusted services. It calls only hosts on the public internet, has a timeout, and
 * accepts only complete JSON responses of bounded size. It throws `Trouble`, which the AT Protocol
 * libraries keep as the cause of their own errors.
 */
import { isHere } from "./names.ts";
import { type BlockedReason, BlockedRequestError, guardedFetch } from "./net/guarded-fetch.ts";
import type { BlueskySetup } from "./setup.ts";

export type TroubleKind =
  | "offline"
  | "slow"
  | "no_data"
  | "cut_off"
  | "too_much"
  | "not_encrypted"
  | "not_public"
  | "redirects";

const BLOCKED: { readonly [reason in BlockedReason]: TroubleKind } = {
  protocol: "not_encrypted",
  address: "not_public",
  redirect: "redirects",
};

export class Trouble extends Error {
  override readonly name = "Trouble";
  constructor(readonly kind: TroubleKind, readonly host: string, options?: ErrorOptions) {
    super(`${host}: ${kind}`, options);
  }
}

/**
 * Maximum size of a response in bytes. A page of a hundred posts has about a tenth of that size.
 */
const MAX_BYTES = 8 * 1024 * 1024;

/** The service to call, and whether it may be on this machine. */
export interface Asking {
  readonly setup: Pick<BlueskySetup, "network" | "deadline" | "service" | "plc">;
  /** The service that hosts the account. */
  readonly service: string;
  /** True if the caller is on this machine. Only such callers may use services on it. */
  readonly local: boolean;
}

export function carefulFetch({ setup, service, local }: Asking): typeof globalThis.fetch {
  const { network, deadline, plc } = setup;
  // Trust the services that the operator configured: they may be in a private network.
  const trusted = [setup.service, plc];
  if (local && isHere(new URL(service))) trusted.push(service);
  const fetch = guardedFetch({ network, trusted });
  return async (input, init) => {
    const asked = new Request(input, init);
    const { host } = new URL(asked.url);
    const late = deadline();
    const signal = AbortSignal.any([asked.signal, late]);
    const fail = (kind: TroubleKind, cause: unknown) => {
      // If the caller aborted the request, throw that: it is not a fault of the service.
      asked.signal.throwIfAborted();
      return new Trouble(late.aborted ? "slow" : kind, host, { cause });
    };
    let response: Response;
    try {
      response = await fetch(new Request(asked, { signal }));
    } catch (error) {
      if (error instanceof BlockedRequestError) {
        throw new Trouble(BLOCKED[error.reason], error.host, { cause: error });
      }
      throw fail("offline", error);
    }
    let body: Uint8Array<ArrayBuffer> | undefined;
    try {
      body = await whole(response);
    } catch (error) {
      throw fail("cut_off", error);
    }
    if (!body) throw new Trouble("too_much", host);
    if (body.length > 0 && !isJson(response, body)) throw new Trouble("no_data", host);
    const { status, statusText, headers } = response;
    const empty = status === 204 || status === 205 || status === 304;
    return new Response(empty ? null : body, { status, statusText, headers: plain(headers) });
  };
}

/** Removes the headers for encoding and length, because the body is already decoded. */
function plain(headers: Headers): Headers {
  const copy = new Headers(headers);
  copy.delete("content-encoding");
  copy.delete("content-length");
  return copy;
}

async function whole(response: Response): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // Leaving the loop cancels the stream.
    if (size > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function isJson(response: Response, body: Uint8Array): boolean {
  if (!/\bjson\b/i.test(response.headers.get("content-type") ?? "")) return false;
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}
