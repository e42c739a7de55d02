/**
 * `fetch` for untrusted services. It reaches only the public internet, has a deadline, and accepts
 * only complete JSON responses of bounded size. It throws a `Trouble`, which the AT Protocol
 * libraries pass on as the cause of their errors.
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

/** Maximum size of a response in bytes: ten times a page of a hundred posts. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The service to ask, and whether it may be on this machine. */
export interface Asking {
  readonly setup: Pick<BlueskySetup, "network" | "deadline" | "service" | "plc">;
  /** The service that hosts the account. */
  readonly service: string;
  /** True if the caller is at this machine, and so may use services on it. */
  readonly local: boolean;
}

export function carefulFetch({ setup, service, local }: Asking): typeof globalThis.fetch {
  const { network, deadline, plc } = setup;
  // Services that the operator configured may be in a private network.
  const trusted = [setup.service, plc];
  if (local && isHere(new URL(service))) trusted.push(service);
  const fetch = guardedFetch({ network, trusted });
  return async (input, init) => {
    const asked = new Request(input, init);
    const { host } = new URL(asked.url);
    const late = deadline();
    const signal = AbortSignal.any([asked.signal, late]);
    const fail = (kind: TroubleKind, cause: unknown) => {
      // Rethrow the caller's own abort: it is not a fault of the service.
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

/** Drops the encoding and length headers, because the body is decoded already. */
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
