/** Serving on Deno. */
import { keepListening } from "./keep-listening.ts";
import type { Listen } from "./types.ts";

export const listen: Listen = (fetch, options) =>
  keepListening(({ port, hostname }) => {
    const server = Deno.serve({ port, hostname, onListen: () => {} }, fetch);
    // `finished` rejects when a connection could not be accepted, and nobody listens any more.
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    server.finished.catch(fail);
    return Promise.resolve({
      port: server.addr.port,
      hostname: server.addr.hostname,
      failed,
      stop: () => server.shutdown(),
    });
  }, options);
