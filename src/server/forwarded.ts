/**
 * What a proxy says of the request that it forwards.
 *
 * F1  A request with any of these headers came through a proxy, whatever its Host
 *     says: whoever sent it may be anywhere.
 * F2  What the headers say is believed only where the connection comes from a proxy
 *     that the operator trusts; anybody can write them.
 * F3  Where two headers say different things, the stricter one counts: a proxy that
 *     sets one of them passes the other on as its client wrote it.
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
  /** Finds the address of a request's peer in what the runtime hands over beside the request. */
  readonly peerOf?: (request: Request, connection: unknown) => string | undefined;
}

/**
 * The headers that proxies send, the usual ones first. They are looked up by name, because
 * iterating over all headers of each request costs three times as much on Deno.
 */
const HEADERS = [
  "x-forwarded-for",
  "forwarded",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-port",
  "x-forwarded-server",
  "x-forwarded-prefix",
  "x-real-ip",
];

/** How a request was forwarded. */
export interface Forwarding {
  /** The proxy is one that the operator trusts. */
  readonly trusted: boolean;
  /** The names under which the proxy was called, as far as a trusted one says so. */
  readonly hosts: readonly string[];
  /** The client is on this machine, as a trusted proxy says. */
  readonly local: boolean;
}

/** A proxy that nobody knows. */
export const UNTRUSTED: Forwarding = { trusted: false, hosts: [], local: false };

export function isForwarded(headers: Headers): boolean {
  for (let i = 0; i < HEADERS.length; i++) if (headers.has(HEADERS[i]!)) return true;
  return false;
}

/** The proxies that the operator trusts. */
export class Proxies {
  readonly #ranges: readonly AddressRange[];
  readonly #peerOf: ProxyOptions["peerOf"];

  constructor({ trustProxy = [], peerOf }: ProxyOptions) {
    this.#ranges = trustProxy.map(toRange);
    this.#peerOf = peerOf;
  }

  get trustsAny(): boolean {
    return this.#ranges.length > 0;
  }

  /** How a request was forwarded; null if it came directly. */
  forwarding(request: Request, connection: unknown): Forwarding | null {
    if (!isForwarded(request.headers)) return null;
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
    `Cannot trust proxy "${text}": it is no IP address or range; pass one such as "10.0.0.0/8"`,
  );
}

/** What a trusted proxy says. */
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
  // Each proxy appends whom it heard from, so the client is the last that is no trusted proxy.
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

/** `for=192.0.2.1;host="a.example"` by its names. */
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

/** An address without its port and brackets. */
function nodeOf(text: string): string {
  const bracketed = /^\[(.*)\](:\d+)?$/.exec(text);
  if (bracketed) return bracketed[1]!;
  return /^[^:]+:\d+$/.test(text) ? text.slice(0, text.indexOf(":")) : text;
}
