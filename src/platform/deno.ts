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
 * How many descriptors above the minimum may be open. Running responses count too, because Deno
 * does not tell which connections are idle.
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
    const unwatch = watchIdle(options.maxIdle ?? MAX_IDLE, fail);
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

/** Calls `crowded` once when there are more than `most` descriptors above the minimum seen. */
function watchIdle(most: number, crowded: (reason: Error) => void): () => void {
  let least = openDescriptors();
  if (least === undefined) return () => {};
  const timer = setInterval(() => {
    const now = openDescriptors() ?? 0;
    // The minimum counts files and the responses that outlived the previous listener.
    least = Math.min(least!, now);
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
