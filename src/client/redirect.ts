/**
 * Redirects, followed by hand: `fetch` would carry the headers that the person gave on to
 * whatever origin a server names.
 */
import { ClientError } from "./client-error.ts";

const STATUSES = [301, 302, 303, 307, 308];
/** With these, the method and the body stay what they are. */
const KEEPING = [307, 308];

export const MOST_REDIRECTS = 5;

export function isRedirect(status: number): boolean {
  return STATUSES.includes(status);
}

/** Where a redirect leads. Throws `ClientError` for one that must not be followed. */
export function nextAddress(
  from: URL,
  method: string,
  status: number,
  location: string | null,
): URL {
  const to = location ? URL.parse(location, from) : null;
  if (!to || !/^https?:$/.test(to.protocol)) {
    throw new ClientError(
      `Cannot reach ${from}: it redirects to no address (HTTP ${status}); check the address`,
    );
  }
  // Not ours to send: the server chose them.
  to.username = "";
  to.password = "";
  if (from.protocol === "https:" && to.protocol === "http:") {
    throw new ClientError(
      `Cannot reach ${from}: it redirects to ${to}, which is not encrypted; if you trust the network, call that address instead`,
    );
  }
  if (method !== "GET" && !KEEPING.includes(status)) {
    throw new ClientError(
      `Cannot reach ${from}: it redirects to ${to} (HTTP ${status}), which loses what is sent; call that address instead`,
    );
  }
  return to;
}

export function tooMany(url: string): ClientError {
  return new ClientError(
    `Cannot reach ${url}: it redirects more than ${MOST_REDIRECTS} times; check the address`,
  );
}
