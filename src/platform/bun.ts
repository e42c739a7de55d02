/** Serving on Bun. */
import type { Listen } from "./types.ts";

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: {
  serve(options: {
    port: number;
    hostname: string;
    development: false;
    idleTimeout: number;
    reusePort: false;
    fetch(request: Request): Promise<Response>;
  }): { port: number; hostname: string; stop(closeActiveConnections?: boolean): Promise<void> };
};

/** Seconds of silence before Bun hangs up; well beyond our own signs of life. */
const IDLE_TIMEOUT = 120;

export const listen: Listen = async (fetch, { port, hostname }) => {
  const server = Bun.serve({
    port,
    hostname,
    // Otherwise an error shows a page with source code.
    development: false,
    idleTimeout: IDLE_TIMEOUT,
    // In an executable, a second one would otherwise take half of what is meant for the first.
    reusePort: false,
    fetch,
  });
  return await Promise.resolve({
    port: server.port,
    hostname: server.hostname,
    // A connection that cannot be accepted stays in the queue, and Bun goes on.
    failed: new Promise<never>(() => {}),
    stop: () => server.stop(),
  });
};
