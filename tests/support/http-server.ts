/** A foreign HTTP server on `node:http`, for as long as a test lasts. */
import { type Operation, resource, until } from "effection";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export function useHttp(listener: RequestListener): Operation<string> {
  return resource(function* (provide) {
    const server = createServer(listener);
    yield* until(new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
    try {
      yield* provide(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
    } finally {
      server.closeAllConnections();
      yield* until(new Promise((resolve) => server.close(resolve)));
    }
  });
}
