/** Serves HTTP on Bun. */
import type { Listen } from "./types.ts";

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
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

/** Seconds without traffic before Bun closes a connection. Heartbeats are far more frequent. */
const IDLE_TIMEOUT = 120;

export const listen: Listen = async (fetch, { port, hostname }) => {
  const server = Bun.serve({
    port,
    hostname,
    // In development mode, an error page shows source code.
    development: false,
    idleTimeout: IDLE_TIMEOUT,
    // Compiled programs share ports by default: a second server would get half of the requests.
    reusePort: false,
    fetch,
  });
  return await Promise.resolve({
    port: server.port,
    hostname: server.hostname,
    // Never fails: Bun leaves a connection that it cannot accept in the queue and continues.
    failed: new Promise<never>(() => {}),
    stop: () => server.stop(),
  });
};
