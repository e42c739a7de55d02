/**
 * The network for `guardedFetch`. It resolves a host name once and sends the request to one of the
 * resulting addresses. The name is not resolved again, so the address cannot change between the
 * check and the request (DNS rebinding).
 *
 * `fetch` cannot do this on any runtime. `node:http` and `node:https` can, with the option `lookup`,
 * and they behave the same on Deno, Bun and Node: the certificate and the `Host` header are those of
 * the host name. If one address cannot be reached, the next one is tried.
 */
import { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIPv6 } from "node:net";
import { Readable } from "node:stream";

export interface Network {
  /** Returns all addresses of a host name. */
  resolve(hostname: string): Promise<readonly string[]>;
  /** Sends a request to one of these addresses. Does not follow redirects. */
  send(request: Request, addresses: readonly string[]): Promise<Response>;
}

export interface DirectNetworkOptions {
  /** Certificates to trust instead of the runtime's, in PEM. */
  readonly ca?: string;
}

/** The network of this machine. Each request has its own connection. */
export function directNetwork({ ca }: DirectNetworkOptions = {}): Network {
  return {
    async resolve(hostname) {
      return (await lookup(hostname, { all: true })).map(({ address }) => address);
    },
    async send(request, addresses) {
      request.signal.throwIfAborted();
      const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
      return await sendTo(request, body, addresses, ca);
    },
  };
}

function sendTo(
  { url, method, headers, signal }: Request,
  body: Buffer | undefined,
  addresses: readonly string[],
  ca: string | undefined,
): Promise<Response> {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const { request } = protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    let answer: http.IncomingMessage | undefined;
    const stop = () => {
      const reason: Error = signal.reason;
      if (answer) answer.destroy(reason);
      else sent.destroy(reason);
      reject(reason);
    };
    const sent = request({
      // No connection pool: a pooled connection would have no owner.
      agent: false,
      host: hostname.replace(/^\[|\]$/g, ""),
      ...(port !== "" && { port }),
      path: `${pathname}${search}`,
      method,
      headers: headersOf(headers, method, body),
      lookup: pinned(addresses),
      ...(ca !== undefined && { ca }),
    }, (message) => {
      answer = message;
      // Ignore errors here: the reader of the body gets them.
      message.on("error", () => {});
      resolve(responseOf(message, method, url));
    });
    sent.on("error", reject);
    sent.once("close", () => signal.removeEventListener("abort", stop));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) return stop();
    sent.end(body);
  });
}

/** Returns a `lookup` function that always answers with these addresses. */
function pinned(addresses: readonly string[]): NonNullable<http.RequestOptions["lookup"]> {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, options, callback) => {
    if (options.all) callback(null, all);
    else callback(null, all[0]!.address, all[0]!.family);
  };
}

function headersOf(
  given: Headers,
  method: string,
  body: Buffer | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: "*/*",
    "user-agent": "Parley",
    ...Object.fromEntries(given),
    "accept-encoding": "gzip",
  };
  // Remove the header, because the host name always comes from the URL.
  delete headers["host"];
  if (body || !/^(?:GET|HEAD)$/.test(method)) headers["content-length"] = `${body?.length ?? 0}`;
  return headers;
}

function responseOf(message: http.IncomingMessage, method: string, url: string): Response {
  const headers = new Headers();
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    headers.append(message.rawHeaders[i]!, message.rawHeaders[i + 1]!);
  }
  const status = message.statusCode!;
  const init = { status, statusText: message.statusMessage ?? "", headers };
  if (method === "HEAD" || status === 204 || status === 205 || status === 304) {
    message.resume();
    return withUrl(new Response(null, init), url);
  }
  let body = Readable.toWeb(message) as ReadableStream<Uint8Array<ArrayBuffer>>;
  if (/^(?:x-)?gzip$/i.test(headers.get("content-encoding") ?? "")) {
    headers.delete("content-encoding");
    headers.delete("content-length");
    body = body.pipeThrough(new DecompressionStream("gzip"));
  }
  return withUrl(new Response(body, init), url);
}

/** Sets `url`, as `fetch` does. The constructor of `Response` cannot set it. */
function withUrl(response: Response, url: string): Response {
  return Object.defineProperty(response, "url", { value: url });
}
