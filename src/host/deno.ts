/** Serving on Deno. */
import type { Listen } from "./types.ts";

export const listen: Listen = (fetch, { port, hostname }) =>
  new Promise((resolve, reject) => {
    try {
      const server = Deno.serve({
        port,
        hostname,
        onListen: (address: { port: number; hostname: string }) =>
          resolve({
            port: address.port,
            hostname: address.hostname,
            stop: () => server.shutdown(),
          }),
      }, fetch);
    } catch (error) {
      reject(error);
    }
  });
