/**
 * `fetch` for addresses that come from outside: from a caller, from a document of
 * another server, from a redirect. It does not reach into this machine or its
 * network, and hands credentials to nobody but whom they were meant for.
 *
 * G1  Only https, and only hosts all of whose addresses are public.
 * G2  The connection goes to the addresses that were checked (see `network.ts`).
 * G3  An origin in `trusted` may be anywhere, and may use http. Trust is for exact
 *     origins, and does not pass on: a redirect to one is checked like any other.
 * G4  A redirect is followed for GET and HEAD without credentials only, and each of
 *     its addresses is checked again. Everything else with a redirect fails.
 */
import { directNetwork, type Network } from "./network.ts";
import { isAddress, isPublicAddress, isPublicName } from "./public-address.ts";

export interface GuardedFetchOptions {
  readonly network?: Network;
  /** Origins that somebody who may do so has named, such as `http://localhost:2583`. */
  readonly trusted?: readonly string[];
  /** How many redirects to follow; 3 by default. */
  readonly redirects?: number;
  /** Which addresses may be connected to; public ones by default. */
  readonly allows?: (address: string) => boolean;
}

export type BlockedReason =
  /** Neither https nor a trusted origin. */
  | "protocol"
  /** The host is not one of the public internet. */
  | "address"
  /** A redirect where none is followed, or one too many. */
  | "redirect";

/** A request that was not made, or not to its end, because it is not allowed. */
export class BlockedRequestError extends Error {
  override readonly name = "BlockedRequestError";
  /** @param host the one that was not asked, or that answered with the redirect */
  constructor(readonly reason: BlockedReason, readonly host: string) {
    super(`Cannot request "${host}": ${EXPLAINED[reason]}`);
  }
}

const EXPLAINED: { readonly [reason in BlockedReason]: string } = {
  protocol: "it is not encrypted; use its https address",
  address: "it has no public address; use a host on the public internet",
  redirect: "it redirects, and that is not followed here; use the address that it leads to",
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Headers that go along to another origin. */
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
      const response = await network.send(request, addresses);
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null || redirect === "manual") return response;
      await response.body?.cancel();
      const next = URL.parse(location, url);
      const followable = next !== null && /^https?:$/.test(next.protocol) && mayFollow(request);
      if (!followable || redirect === "error" || followed >= redirects) {
        throw new BlockedRequestError("redirect", url.host);
      }
      const same = next.origin === url.origin;
      mayTrust &&= same;
      request = new Request(next, {
        method: request.method,
        headers: [...request.headers].filter(([name]) => same || HARMLESS.has(name)),
        signal,
      });
    }
  };

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
    // One address that is not allowed is enough: which one a runtime takes is not ours to say.
    if (addresses.length === 0 || !(trusted || addresses.every(allows))) {
      throw new BlockedRequestError("address", host);
    }
    return addresses;
  }
}

/** Nothing in the request is meant for its first receiver alone. */
function mayFollow({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") &&
    !["authorization", "cookie", "dpop", "proxy-authorization"].some((name) => headers.has(name));
}

/** A lookup cannot be stopped, but nobody has to wait for it. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
