/**
 * Serves HTTP on Deno.
 *
 * Deno has no timeout for headers or idle connections, and keeps a connection open whose body
 * came too late. So we count the open file descriptors of the process. If there are too many, the
 * listener is reopened, which closes all idle connections.
 */
import { clearInterval, setInterval } from "node:timers";
import { keepListening } from "./keep-listening.ts";
import type { Listen } from "./types.ts";

/**
 * How many descriptors above the minimum may be open. Deno does not tell which connections are
 * idle, so all descriptors count that are not known to be in use.
 */
const MAX_IDLE = 8_192;
/** Milliseconds between two counts. */
const EVERY = 1_000;

export const listen: Listen = (fetch, options) =>
  keepListening(({ port, hostname }) => {
    const server = Deno.serve({ port, hostname, onListen: () => {} }, fetch);
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    // Rejects when a connection could not be accepted. The listener is closed then.
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

/** Calls `crowded` once when more than `most` descriptors above the minimum seen are not busy. */
function watchIdle(
  most: number,
  busy: () => number,
  crowded: (reason: Error) => void,
): () => void {
  // Several streams can share one connection (HTTP/2), so there can be more of them.
  const unused = (open: number) => Math.max(0, open - busy());
  const first = openDescriptors();
  if (first === undefined) return () => {};
  let least = unused(first);
  const timer = setInterval(() => {
    const now = unused(openDescriptors() ?? 0);
    // The minimum counts files, and requests that outlived the previous listener.
    least = Math.min(least, now);
    if (now - least <= most) return;
    clearInterval(timer);
    crowded(
      new Error(
        `Cannot keep idle connections open: ${
          now - least
        } file descriptors were opened, and at most ${most} may be; put a proxy in front`,
      ),
    );
  }, EVERY);
  timer.unref();
  return () => clearInterval(timer);
}

/** The number of open descriptors. Undefined if it cannot be determined. */
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
