/**
 * Checks redirects. `http.ts` follows them instead of `fetch`, because `fetch` would send the
 * person's headers to any origin that a server names.
 */
import { ClientError } from "./client-error.ts";

const STATUSES = [301, 302, 303, 307, 308];
/** Statuses that keep the method and the body. */
const KEEPING = [307, 308];

export const MAX_REDIRECTS = 5;

export function isRedirect(status: number): boolean {
  return STATUSES.includes(status);
}

/** The URL that a redirect leads to. Throws `ClientError` if it must not be followed. */
export function nextAddress(
  from: URL,
  method: string,
  status: number,
  location: string | null,
): URL {
  const to = location ? URL.parse(location, from) : null;
  if (!to || !/^https?:$/.test(to.protocol)) {
    throw new ClientError(
      `Cannot reach ${from}: it redirects (HTTP ${status}) without a valid URL; check the address`,
    );
  }
  // Drop credentials that the server put into the URL.
  to.username = "";
  to.password = "";
  if (from.protocol === "https:" && to.protocol === "http:") {
    throw new ClientError(
      `Cannot reach ${from}: it redirects to ${to}, which is not encrypted; if you trust the network, use that address as the URL`,
    );
  }
  if (method !== "GET" && !KEEPING.includes(status)) {
    throw new ClientError(
      `Cannot reach ${from}: it redirects to ${to} with HTTP ${status}, which drops the request body; use that address as the URL`,
    );
  }
  return to;
}

export function tooMany(url: string): ClientError {
  return new ClientError(
    `Cannot reach ${url}: it redirects more than ${MAX_REDIRECTS} times; check the address`,
  );
}
