/**
 * `fetch` for untrusted URLs. Such a URL comes from a caller, from a document of another server, or
 * from a redirect. Requests cannot reach this machine or its network, and credentials are sent only
 * to the intended origin.
 *
 * FETCH-1  Only https is allowed, and only hosts whose addresses are all public.
 * FETCH-2  The request is sent to the addresses that were checked (see `network.ts`).
 * FETCH-3  An origin in `trusted` may have any address and may use http. This does not apply to
 *          redirects from another origin: a redirect to a trusted origin is checked like any other.
 * FETCH-4  Redirects are followed only for GET and HEAD without credentials, and each target is
 *          checked again. Any other redirected request fails.
 */
import { directNetwork, type Network } from "./network.ts";
import { isAddress, isPublicAddress, isPublicName } from "./public-address.ts";

export interface GuardedFetchOptions {
  readonly network?: Network;
  /** Origins that the operator trusts, such as `http://localhost:2583`. */
  readonly trusted?: readonly string[];
  /** How many redirects to follow. Default: 3. */
  readonly redirects?: number;
  /** Decides which addresses are allowed. Default: public addresses. */
  readonly allows?: (address: string) => boolean;
}

export type BlockedReason =
  /** The URL is neither https nor a trusted origin. */
  | "protocol"
  /** The host is not on the public internet. */
  | "address"
  /** The redirect must not be followed, or there were too many. */
  | "redirect";

/** A request or redirect was not sent, because it is not allowed. */
export class BlockedRequestError extends Error {
  override readonly name = "BlockedRequestError";
  /** @param host the host that was refused, or that sent the redirect */
  constructor(readonly reason: BlockedReason, readonly host: string) {
    super(`Cannot request "${host}": ${EXPLAINED[reason]}`);
  }
}

const EXPLAINED: { readonly [reason in BlockedReason]: string } = {
  protocol: "it is not encrypted; use its https address",
  address: "it has no public address; use a host on the public internet",
  redirect: "it redirects to another address, which is not followed; use that address",
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Headers that may be sent to another origin. */
const HARMLESS = new Set(["accept", "accept-language", "user-agent"]);

export function guardedFetch(
  {
    network = directNetwork(),
    trusted = [],
    redirects = 3,
    allows = isPublicAddress,
  }: GuardedFetchOptions = {},
): typeof globalThis.fetch {
  const origins = new Set(trusted.map((address) => new URL(address).origin));
  return async (input, init) => {
    let request = new Request(input, init);
    const { redirect, signal } = request;
    let mayTrust = true;
    for (let followed = 0;; followed++) {
      const url = new URL(request.url);
      const addresses = await addressesOf(url, mayTrust && origins.has(url.origin), signal);
      // FETCH-2
      const response = await network.send(request, addresses);
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null || redirect === "manual") return response;
      await response.body?.cancel();
      const next = URL.parse(location, url);
      const followable = next !== null && /^https?:$/.test(next.protocol) && mayFollow(request);
      if (!followable || redirect === "error" || followed >= redirects) {
        throw new BlockedRequestError("redirect", url.host);
      }
      // FETCH-3: a redirect from another origin is never trusted.
      const same = next.origin === url.origin;
      mayTrust &&= same;
      request = new Request(next, {
        method: request.method,
        headers: [...request.headers].filter(([name]) => same || HARMLESS.has(name)),
        signal,
      });
    }
  };

  /** Returns the addresses of a host. Throws if the request is not allowed (FETCH-1). */
  async function addressesOf(
    { protocol, hostname, host }: URL,
    trusted: boolean,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (protocol !== "https:" && !(trusted && protocol === "http:")) {
      throw new BlockedRequestError("protocol", host);
    }
    const bare = hostname.replace(/^\[|\]$/g, "");
    const literal = isAddress(bare);
    if (!trusted && !literal && !isPublicName(bare)) {
      throw new BlockedRequestError("address", host);
    }
    const addresses = literal ? [bare] : await abortable(network.resolve(bare), signal);
    // Refuse if any of the addresses is not allowed, because the runtime chooses one of them.
    if (addresses.length === 0 || !(trusted || addresses.every(allows))) {
      throw new BlockedRequestError("address", host);
    }
    return addresses;
  }
}

/** True if the request may be sent to another server: it has no body and no credentials (FETCH-4). */
function mayFollow({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") &&
    !["authorization", "cookie", "dpop", "proxy-authorization"].some((name) => headers.has(name));
}

/** Rejects if the signal is aborted, because a DNS lookup itself cannot be cancelled. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
