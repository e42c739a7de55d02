/**
 * Checks the `Host` and `Origin` headers of each request, against DNS rebinding.
 *
 * A web page can make the visitor's browser send requests to a loopback address, under any host
 * name. So the server accepts a request only if both the host name (`Host`) and the page's origin
 * (`Origin`) are allowed. Loopback names are always allowed. The operator can allow others.
 *
 * A proxy can forward requests from any machine under a loopback name. So a forwarded request needs
 * a host name that the operator has allowed, or a proxy that the operator trusts.
 */
import { isLoopbackAddress, parseAddress } from "../lib/ip-address.ts";
import type { ParleyOptions } from "./options.ts";
import { type Forwarding, type ReadHeaders, readHeaders, UNTRUSTED } from "./forwarded.ts";

export type GuardOptions = Pick<ParleyOptions, "allowHosts" | "allowOrigins">;

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

export class Guard {
  readonly #hosts: ReadonlySet<string>;
  /** False if only loopback names are accepted. */
  readonly allowsOtherNames: boolean;
  readonly #origins: ReadonlySet<string>;

  constructor({ allowHosts = [], allowOrigins = [] }: GuardOptions) {
    this.#hosts = new Set(allowHosts.map((host) => host.toLowerCase()));
    this.allowsOtherNames = this.#hosts.size > 0;
    this.#origins = new Set(allowOrigins.map((origin) => origin.toLowerCase()));
  }

  /** Returns why the request is refused. Undefined if it is accepted. */
  refuses(
    request: Request,
    headers = readHeaders(request.headers),
    forwarding: Forwarding | null = headers.isForwarded ? UNTRUSTED : null,
    origin = headers.origin,
  ): string | undefined {
    const host = headers.host ?? hostOf(request.url);
    if (!LOOPBACK.test(host) && !this.#allowsHost(host)) return notAllowed(host);
    const other = forwarding?.hosts.find((name) => !LOOPBACK.test(name) && !this.#allowsHost(name));
    if (other !== undefined) return notAllowed(other);
    if (forwarding && !forwarding.trusted && !this.#allowsHost(host)) {
      return `it came through a proxy with the host name "${host}", which only callers on this machine may use; configure the proxy to forward the original host name and allow that name with --allow-host, or trust the proxy with --trust-proxy`;
    }
    if (origin !== null && !this.allowsOrigin(origin)) {
      return `web pages from "${origin}" may not call this server; allow the origin with --allow-origin`;
    }
    return undefined;
  }

  /**
   * Returns why a request from this peer is refused: only callers on this machine may use loopback
   * names. Undefined if it is accepted, or the peer is not known.
   */
  refusesPeer(
    request: Request,
    headers: ReadHeaders,
    peer: string | undefined,
  ): string | undefined {
    // Fast path: most callers are on this machine.
    if (peer === undefined || peer === "127.0.0.1" || peer === "::1") return undefined;
    const host = headers.host ?? hostOf(request.url);
    if (!LOOPBACK.test(host) || this.#allowsHost(host)) return undefined;
    const address = parseAddress(peer);
    if (!address || isLoopbackAddress(address)) return undefined;
    return `it came from ${peer} with the host name "${host}", which only callers on this machine may use; use the name of the server, or allow this name with --allow-host`;
  }

  /** True if an accepted request has a host name by which other machines reach the server. */
  isExposed(request: Request, headers: ReadHeaders): boolean {
    return !LOOPBACK.test(headers.host ?? hostOf(request.url));
  }

  allowsOrigin(origin: string): boolean {
    if (this.#origins.has("*") || this.#origins.has(origin.toLowerCase())) return true;
    const [scheme, host] = origin.split("://");
    return (scheme === "http" || scheme === "https") && host !== undefined && LOOPBACK.test(host);
  }

  /** True if the operator has allowed the host name, with or without its port. */
  #allowsHost(host: string): boolean {
    if (this.#hosts.has("*")) return true;
    const name = host.toLowerCase();
    return this.#hosts.has(name) || this.#hosts.has(name.replace(/:\d+$/, ""));
  }
}

function notAllowed(host: string): string {
  return `the host name "${host}" is not allowed; allow it with --allow-host`;
}

function hostOf(url: string): string {
  const start = url.indexOf("://") + 3;
  const end = url.indexOf("/", start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}

/** Returns the path of a URL. This is faster than parsing the whole URL. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  if (start < 0) return "/";
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}

/** True if a `Content-Type` header names the media type. Parameters are ignored. */
export function isType(header: string | null, type: string): boolean {
  if (header === null || header === type) return header === type;
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase() === type;
}

/** The `Accept` headers that most clients send. They need no parsing. */
const USUAL = ["application/json, text/event-stream", "text/event-stream, application/json"];

/** True if an `Accept` header accepts both formats of a response. */
export function acceptsBoth(accept: string | null): boolean {
  return accept === USUAL[0] ||
    accepts(accept, "application/json") && accepts(accept, "text/event-stream");
}

/** True if an `Accept` header accepts the media type, directly or by a wildcard. */
export function accepts(
  accept: string | null,
  type: "application/json" | "text/event-stream",
): boolean {
  if (accept === null) return false;
  if (USUAL.includes(accept)) return true;
  const family = `${type.slice(0, type.indexOf("/"))}/*`;
  return accept.toLowerCase().split(",").some((part) => {
    const [range = "", ...parameters] = part.split(";").map((word) => word.trim());
    if (range !== type && range !== family && range !== "*/*") return false;
    return !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
