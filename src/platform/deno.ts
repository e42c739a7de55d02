/**
 * Serving on Deno.
 *
 * Deno has no timeout for headers or idle connections, and keeps the connection of a body
 * that came too late. So those are counted from outside, by the descriptors of the process:
 * when there are too many, the listener is opened again, which closes all of them.
 */
import { clearInterval, setInterval } from "node:timers";
import { keepListening } from "./keep-listening.ts";
import type { Listen } from "./types.ts";

/** Connections that may be open besides those that a response is under way on. */
const MOST_IDLE = 8_192;
/** Milliseconds between two looks at how many there are. */
const EVERY = 1_000;

export const listen: Listen = (fetch, options) =>
  keepListening(({ port, hostname }) => {
    const server = Deno.serve({ port, hostname, onListen: () => {} }, fetch);
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    // It rejects when a connection could not be accepted, and nobody listens any more.
    server.finished.catch(fail);
    const unwatch = watchIdle(options.maxIdle ?? MOST_IDLE, fail);
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

/** Calls `crowded` once when there are too many descriptors more than there were. */
function watchIdle(most: number, crowded: (reason: Error) => void): () => void {
  let least = openDescriptors();
  if (least === undefined) return () => {};
  const timer = setInterval(() => {
    const now = openDescriptors() ?? 0;
    // What was there from the start, and outlasted the last listener, is under way.
    least = Math.min(least!, now);
    if (now - least <= most) return;
    clearInterval(timer);
    crowded(
      new Error(
        `Cannot keep ${
          now - least
        } connections open: at most ${most} may be idle; put a proxy in front`,
      ),
    );
  }, EVERY);
  timer.unref();
  return () => clearInterval(timer);
}

/** As many as this process has open; undefined where that cannot be told. */
function openDescriptors(): number | undefined {
  const path = Deno.build.os === "linux" ? "/proc/self/fd" : "/dev/fd";
  if (Deno.build.os === "windows") return undefined;
  // Not to be asked for at a terminal.
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return undefined;
  try {
    // Linux tells their number as the size of the folder, from 6.2 on.
    const { size } = Deno.statSync(path);
    if (Deno.build.os === "linux" && size > 0) return size;
    return [...Deno.readDirSync(path)].length;
  } catch {
    return undefined;
  }
}
