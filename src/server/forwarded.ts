/**
 * Reads the headers of a request, including those that a proxy adds to a forwarded request.
 *
 * PROXY-1  A request with any of these headers came through a proxy, even if `Host` is a loopback
 *          name. The client may be on any machine.
 * PROXY-2  The values of the headers are used only if the connection comes from a trusted proxy,
 *          because any client can set these headers.
 * PROXY-3  If two headers disagree, the stricter value is used: a proxy may set one header and
 *          forward the other unchanged from its client.
 */
import {
  type AddressRange,
  isInRange,
  isLoopbackAddress,
  parseAddress,
  parseRange,
} from "../lib/ip-address.ts";
import type { RequestHeaders } from "../wire/request-headers.ts";
import type { ParleyOptions } from "./options.ts";

export interface ProxyOptions extends Pick<ParleyOptions, "trustProxy"> {
  /** Returns the peer's address. `connection` is the second argument of the runtime's handler. */
  readonly peerOf?: (request: Request, connection: unknown) => string | undefined;
  /** True if only programs on this machine can connect, so that peers need no check. */
  readonly localOnly?: boolean;
}

/** How a request was forwarded. */
export interface Forwarding {
  /** True if the operator trusts the proxy. */
  readonly trusted: boolean;
  /** The host names that the client used, from the headers of a trusted proxy. */
  readonly hosts: readonly string[];
  /** True if a trusted proxy says that the client is on this machine. */
  readonly local: boolean;
}

/** The result for a request from a proxy that is not trusted. */
export const UNTRUSTED: Forwarding = { trusted: false, hosts: [], local: false };

type Headings = { -readonly [K in keyof RequestHeaders]: RequestHeaders[K] } & {
  isForwarded: boolean;
};

/** The headers of a request, and whether a proxy has forwarded it. */
export type ReadHeaders = Readonly<Headings>;

/**
 * Reads the headers of a request in one pass. PROXY-1 requires a look at every name. After that, a
 * separate `get` for each header would take as long again.
 */
export function readHeaders(all: Headers, lists?: HeaderLists): ReadHeaders {
  const headers: Headings = {
    all,
    isForwarded: false,
    host: null,
    origin: null,
    accept: null,
    contentType: null,
    contentLength: null,
    session: null,
    version: null,
    method: null,
    name: null,
  };
  if (lists?.read(all)) {
    const { names, pairs } = lists;
    for (let i = 0; i < names.length; i++) take(headers, names[i]!, pairs[i]![1]!);
    return headers;
  }
  // On Bun, `toJSON` is the fastest way to read all headers. On other runtimes `forEach` is. Both
  // pass every header, with its name in lower case.
  const { toJSON } = all as Headers & { toJSON?(): { readonly [name: string]: string } };
  if (toJSON) {
    const values = toJSON.call(all);
    for (const name in values) take(headers, name, values[name]!);
  } else {
    all.forEach((value, name) => take(headers, name, value));
  }
  return headers;
}

/** Takes one header. The values of a repeated header are joined, as `Headers.get` does. */
function take(headers: Headings, name: string, value: string): void {
  switch (name) {
    case "host":
      headers.host = headers.host === null ? value : headers.all.get(name);
      break;
    case "origin":
      headers.origin = headers.origin === null ? value : headers.all.get(name);
      break;
    case "accept":
      headers.accept = headers.accept === null ? value : headers.all.get(name);
      break;
    case "content-type":
      headers.contentType = headers.contentType === null ? value : headers.all.get(name);
      break;
    case "content-length":
      headers.contentLength = headers.contentLength === null ? value : headers.all.get(name);
      break;
    case "mcp-session-id":
      headers.session = headers.session === null ? value : headers.all.get(name);
      break;
    case "mcp-protocol-version":
      headers.version = headers.version === null ? value : headers.all.get(name);
      break;
    case "mcp-method":
      headers.method = headers.method === null ? value : headers.all.get(name);
      break;
    case "mcp-name":
      headers.name = headers.name === null ? value : headers.all.get(name);
      break;
    case "forwarded":
    case "via":
    case "x-real-ip":
      headers.isForwarded = true;
      break;
    default:
      if (name.startsWith("x-forwarded")) headers.isForwarded = true;
  }
}

/** The number of requests whose headers are read both ways. */
const CHECKED = 16;

/**
 * Reads headers faster on Deno. `forEach` there sorts and copies all headers, which is a tenth of
 * the work of a call. The methods of Deno's `Headers` read two lists, which are stored under
 * symbols: the pairs, and their names in lower case. This class reads the same lists.
 *
 * The lists are not part of Deno's API. So they are compared with `forEach` for the first requests
 * of each server. If they are missing or ever differ, only `forEach` is used (PROXY-1).
 */
export class HeaderLists {
  names: readonly string[] = [];
  pairs: readonly (readonly string[])[] = [];
  #unchecked = CHECKED;
  readonly #namesKey: symbol | undefined;
  readonly #pairsKey: symbol | undefined;

  constructor() {
    const symbols = Object.getOwnPropertySymbols(new Headers());
    this.#namesKey = symbols.find(({ description }) => description === "lowercase header names");
    this.#pairsKey = symbols.find(({ description }) => description === "header list");
  }

  /** Sets `names` and `pairs`. Returns false if the headers must be read in another way. */
  read(headers: Headers): boolean {
    if (this.#namesKey === undefined || this.#pairsKey === undefined) return false;
    // Deno creates the lists when they are first needed.
    headers.has("forwarded");
    const lists = headers as unknown as { readonly [key: symbol]: unknown };
    const names = lists[this.#namesKey];
    const pairs = lists[this.#pairsKey];
    if (!Array.isArray(names) || !Array.isArray(pairs) || names.length !== pairs.length) {
      return false;
    }
    this.names = names;
    this.pairs = pairs;
    if (this.#unchecked === 0) return true;
    const listed = new Map<string, string>();
    for (let i = 0; i < names.length; i++) {
      const before = listed.get(names[i]);
      listed.set(names[i], before === undefined ? pairs[i]?.[1] : `${before}, ${pairs[i]?.[1]}`);
    }
    let isSame = true;
    for (const [name, value] of headers) {
      // Skip this header: it is the only repeated header whose values are not joined.
      if (name === "set-cookie") continue;
      isSame &&= listed.get(name) === value;
      listed.delete(name);
    }
    listed.delete("set-cookie");
    // After a difference, no request is read without a check.
    this.#unchecked = isSame && listed.size === 0 ? this.#unchecked - 1 : Infinity;
    return this.#unchecked !== Infinity;
  }
}

/** The proxies that the operator trusts. */
export class Proxies {
  readonly #ranges: readonly AddressRange[];
  readonly #peerOf: ProxyOptions["peerOf"];

  constructor({ trustProxy = [], peerOf }: ProxyOptions) {
    this.#ranges = trustProxy.map(toRange);
    this.#peerOf = peerOf;
  }

  /** The address of the peer, if the runtime reports it. */
  peer(request: Request, connection: unknown): string | undefined {
    return this.#peerOf?.(request, connection);
  }

  get trustsAny(): boolean {
    return this.#ranges.length > 0;
  }

  /** Reads how a forwarded request reached this server. */
  forwarding(request: Request, connection: unknown): Forwarding {
    if (!this.trustsAny) return UNTRUSTED;
    const trusts = (address: string | undefined) => this.#trusts(address);
    const isTrusted = trusts(this.#peerOf?.(request, connection));
    return isTrusted ? believed(request.headers, trusts) : UNTRUSTED;
  }

  #trusts(text: string | undefined): boolean {
    const address = text === undefined ? undefined : parseAddress(text);
    return address !== undefined && this.#ranges.some((range) => isInRange(range, address));
  }
}

function toRange(text: string): AddressRange {
  const range = parseRange(text);
  if (range) return range;
  throw new TypeError(
    `Cannot trust proxy "${text}": it is not an IP address or range; pass one such as "10.0.0.0/8"`,
  );
}

/** Reads the headers of a trusted proxy (PROXY-2, PROXY-3). */
function believed(headers: Headers, trusts: (address: string) => boolean): Forwarding {
  const elements = listOf(headers.get("forwarded")).map(pairsOf);
  const chains = [
    listOf(headers.get("x-forwarded-for")).map(nodeOf),
    elements.flatMap((pairs) => pairs.has("for") ? [nodeOf(pairs.get("for")!)] : []),
  ].filter((chain) => chain.length > 0);
  const hosts = [
    ...listOf(headers.get("x-forwarded-host")).slice(-1),
    ...elements.slice(-1).flatMap((pairs) => pairs.get("host") ?? []),
  ];
  // Each proxy appends its peer's address. So the client is the last address in the chain that
  // is not a trusted proxy.
  const clients = chains.map((chain) => chain.findLast((node) => !trusts(node)) ?? chain[0]!);
  const local = clients.length > 0 && clients.every((client) => {
    const address = parseAddress(client);
    return address !== undefined && isLoopbackAddress(address);
  });
  return { trusted: true, hosts, local };
}

function listOf(header: string | null): string[] {
  return (header ?? "").split(",").map((part) => part.trim()).filter((part) => part !== "");
}

/** Parses an element such as `for=192.0.2.1;host="a.example"` into names and values. */
function pairsOf(element: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of element.split(";")) {
    const at = pair.indexOf("=");
    if (at < 0) continue;
    const value = pair.slice(at + 1).trim().replace(/^"(.*)"$/, "$1");
    pairs.set(pair.slice(0, at).trim().toLowerCase(), value);
  }
  return pairs;
}

/** Removes the port and the brackets from an address. */
function nodeOf(text: string): string {
  const bracketed = /^\[(.*)\](:\d+)?$/.exec(text);
  if (bracketed) return bracketed[1]!;
  return /^[^:]+:\d+$/.test(text) ? text.slice(0, text.indexOf(":")) : text;
}
