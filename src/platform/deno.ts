/**
 * Serves HTTP on Deno.
 *
 * Deno has no timeout for headers or idle connections, and it does not close a connection whose
 * request body is late. So this module counts the open file descriptors of the process. If there
 * are too many, it reopens the listener, which closes all idle connections.
 */
import { clearInterval, setInterval } from "node:timers";
import { keepListening } from "./keep-listening.ts";
import type { Listen } from "./types.ts";

/**
 * The number of descriptors that may be open in addition to the lowest count so far. Deno does not
 * report which connections are idle, so all descriptors that are not known to be in use count as
 * idle.
 */
const MAX_IDLE = 8_192;
/** Milliseconds between two counts. */
const EVERY = 1_000;

export const listen: Listen = (fetch, options) =>
  keepListening(({ port, hostname }) => {
    const server = Deno.serve({ port, hostname, onListen: () => {} }, fetch);
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    // Rejects if a connection cannot be accepted. Deno has then closed the listener.
    server.finished.catch(fail);
    const { maxIdle = MAX_IDLE, busy = () => 0 } = options;
    const unwatch = watchIdle(maxIdle, busy, fail);
    return Promise.resolve({
      port: server.addr.port,
      hostname: server.addr.hostname,
      failed,
      stop: () => {
        unwatch();
        return server.shutdown();
      },
    });
  }, options);

/**
 * Counts the open descriptors that are not busy. Calls `crowded` once if there are `most` more than
 * at the lowest count so far.
 */
function watchIdle(
  most: number,
  busy: () => number,
  crowded: (reason: Error) => void,
): () => void {
  // With HTTP/2, streams share a connection, so `busy` can be greater than the open descriptors.
  const unused = (open: number) => Math.max(0, open - busy());
  const first = openDescriptors();
  if (first === undefined) return () => {};
  let least = unused(first);
  const timer = setInterval(() => {
    const now = unused(openDescriptors() ?? 0);
    // The lowest count includes open files, and requests that outlived the previous listener.
    least = Math.min(least, now);
    if (now - least <= most) return;
    clearInterval(timer);
    crowded(
      new Error(
        `Cannot keep idle connections open: ${
          now - least
        } file descriptors were opened, and the limit is ${most}; put a proxy in front of the server`,
      ),
    );
  }, EVERY);
  timer.unref();
  return () => clearInterval(timer);
}

/** The number of open descriptors. Undefined if the system does not report it. */
function openDescriptors(): number | undefined {
  const path = Deno.build.os === "linux" ? "/proc/self/fd" : "/dev/fd";
  if (Deno.build.os === "windows") return undefined;
  // Do not prompt for a permission.
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return undefined;
  try {
    // Since version 6.2, Linux reports the number as the size of the folder.
    const { size } = Deno.statSync(path);
    if (Deno.build.os === "linux" && size > 0) return size;
    return [...Deno.readDirSync(path)].length;
  } catch {
    return undefined;
  }
}
