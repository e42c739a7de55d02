/**
 * Sends requests to authorization servers. Their addresses come from the server that is called, so
 * their responses are not trusted.
 *
 * REACH-1  Only encrypted addresses are used. A server on this machine may also name unencrypted
 *          addresses of this machine.
 * REACH-2  Redirects are not followed, so that credentials go only where the metadata says.
 * REACH-3  Responses are limited in size and time.
 */
import { readAtMost } from "../../lib/read-at-most.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { isLoopbackAddress, parseAddress } from "../../lib/ip-address.ts";
import { messageOf } from "../../lib/message-of.ts";
import { ClientError } from "../client-error.ts";

const MAX_BYTES = 256 * 1024;
/** Milliseconds from the request to the last byte of the response. */
const TIMEOUT = 20_000;

/** The headers of a response that are used. */
const PASSED_ON = ["content-type", "dpop-nonce"];

export class Reach {
  readonly #isLocal: boolean;
  readonly #clock: Clock;

  /** `server` is the URL that the user gave. */
  constructor(server: string, clock: Clock = systemClock) {
    this.#isLocal = isOnThisMachine(new URL(server));
    this.#clock = clock;
  }

  /** Checks an address that a server named (REACH-1). */
  check(address: unknown, what: string): URL {
    const url = typeof address === "string" ? URL.parse(address) : undefined;
    if (!url) {
      throw new ClientError(
        `Cannot sign in: ${what} is not a URL; report this to the operator of the server`,
      );
    }
    if (this.isSafe(url) && url.username === "" && url.password === "") return url;
    throw new ClientError(
      `Cannot sign in: ${what} is ${url.origin}, which is not an https address; report this to the operator of the server`,
    );
  }

  /** True if tokens may be sent to this address (REACH-1). */
  isSafe(url: URL): boolean {
    return url.protocol === "https:" ||
      (url.protocol === "http:" && this.#isLocal && isOnThisMachine(url));
  }

  /** A `fetch` for `oauth4webapi`. */
  readonly fetch = async (address: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = this.check(String(address), "an address of its authorization server");
    const late = new AbortController();
    const signal = AbortSignal.any([late.signal, ...init.signal ? [init.signal] : []]);
    const disarm = this.#clock.after(TIMEOUT, () => late.abort());
    let response: Response;
    let bytes: Uint8Array;
    try {
      // A refresh token may be accepted only once. Send it on a new connection, because a server may
      // be about to close an idle one.
      const isPost = init.method === "POST";
      const own = { signal, redirect: "manual", ...(isPost && { keepalive: false }) } as const;
      response = await fetch(url, { ...init, ...own });
      bytes = await bodyOf(response);
    } catch (error) {
      if (error instanceof ClientError) throw error;
      const why = late.signal.aborted ? "it did not answer in time" : messageOf(error);
      throw new ClientError(`Cannot reach ${url.origin}${url.pathname}: ${why}; try again later`);
    } finally {
      disarm();
      // Also stops the download of a response that is too large.
      late.abort();
    }
    const { status, headers } = response;
    // REACH-2: a redirect is an error of the server.
    if (status >= 300 && status < 400) {
      throw new ClientError(
        `Cannot sign in: ${url.origin}${url.pathname} redirects to another address; report this to the operator of the server`,
      );
    }
    const content = status === 204 || bytes.length === 0 ? null : new Blob([bytes as BlobPart]);
    const kept = PASSED_ON.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value] as [string, string]];
    });
    return new Response(content, { status, headers: kept });
  };
}

/** Reads the body of a response. Throws if it exceeds the limit (REACH-3). */
async function bodyOf({ body, url }: Response): Promise<Uint8Array> {
  const bytes = await readAtMost(body, MAX_BYTES);
  if (bytes) return bytes;
  throw new ClientError(
    `Cannot sign in: the response of ${
      new URL(url).origin
    } is larger than ${MAX_BYTES} bytes; report this to the operator of the server`,
  );
}

function isOnThisMachine({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (host === "localhost") return true;
  const address = parseAddress(host);
  return address !== undefined && isLoopbackAddress(address);
}
