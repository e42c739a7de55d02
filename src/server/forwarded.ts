/**
 * Reads the headers that a proxy adds to a forwarded request.
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

/**
 * True if a request has any header that only proxies add (PROXY-1). `forEach` is the fastest way to
 * read all names: 1.7 µs on Deno, 0.5 µs on Bun.
 */
export function isForwarded(headers: Headers): boolean {
  let found = false;
  // `forEach` passes the names in lower case.
  headers.forEach((_value, name) => {
    found ||= name.startsWith("x-forwarded") || name === "forwarded" || name === "via" ||
      name === "x-real-ip";
  });
  return found;
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
