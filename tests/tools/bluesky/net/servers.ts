/** Servers on loopback that act as hosts elsewhere, and record their requests. */
import { Buffer } from "node:buffer";
import { type Operation, resource, until } from "effection";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Certificate } from "../../../support/certificate.ts";

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export interface TestHost {
  readonly port: number;
  readonly seen: Seen[];
  /** Connections that were opened, whether or not a request came. */
  readonly connections: number;
  answer: (request: Seen, response: http.ServerResponse) => void;
}

export function useHost(certificate?: Certificate): Operation<TestHost> {
  return resource(function* (provide) {
    let connections = 0;
    const host = {
      port: 0,
      seen: [] as Seen[],
      get connections() {
        return connections;
      },
      answer: (_: Seen, response: http.ServerResponse) => void response.end("here"),
    };
    const listener: http.RequestListener = (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => void chunks.push(chunk));
      request.on("end", () => {
        const seen = {
          method: request.method!,
          path: request.url!,
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        };
        host.seen.push(seen);
        host.answer(seen, response);
      });
    };
    const server = certificate
      ? https.createServer({ ...certificate }, listener)
      : http.createServer(listener);
    server.on("connection", () => void connections++);
    yield* until(new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
    host.port = (server.address() as AddressInfo).port;
    try {
      yield* provide(host);
    } finally {
      server.closeAllConnections();
      yield* until(new Promise<void>((resolve) => server.close(() => resolve())));
    }
  });
}
