/**
 * Serves HTTP on Node, and on other runtimes with Node's `http` module. Converts Node's requests to
 * web `Request` objects, and web `Response` objects to Node's responses.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import process from "node:process";
import { keepListening } from "./keep-listening.ts";
import type { Listen } from "./types.ts";

/**
 * Turns a fetch handler into a request listener for `http.createServer()` and Express. Deno, Bun
 * and Hono take the `fetch` itself.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createParley, toNodeHandler } from "parley-mcp";
 *
 * const parley = createParley();
 * const server = createServer(toNodeHandler(parley.fetch));
 * server.listen(0, "127.0.0.1", () => server.close());
 * ```
 */
export function toNodeHandler(
  fetch: (request: Request, connection?: unknown) => Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const gone = new AbortController();
    // "close" also fires after a complete response, when aborting has no effect.
    outgoing.once("close", () => gone.abort());
    // Without this listener, an error would end the process. "close" reports broken connections.
    outgoing.on("error", () => {});
    try {
      const request = toRequest(incoming, gone.signal);
      // The same shape as Deno's connection info; `peerOf` reads it.
      const connection = { remoteAddr: { hostname: incoming.socket.remoteAddress } };
      await send(await fetch(request, connection), incoming, outgoing);
    } catch {
      // A fetch handler never throws, so the request itself is malformed.
      if (!outgoing.headersSent) outgoing.writeHead(400);
      outgoing.end();
    }
  };
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers, rawHeaders } = incoming;
  const scheme = (incoming.socket as Socket & { encrypted?: boolean }).encrypted ? "https" : "http";
  const host = headers.host ?? "localhost";
  const path = incoming.url?.startsWith("/") ? incoming.url : "/";
  const pairs: [string, string][] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    // Skip the pseudo-headers of HTTP/2.
    if (!rawHeaders[i]!.startsWith(":")) pairs.push([rawHeaders[i]!, rawHeaders[i + 1]!]);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(`${scheme}://${host}${path}`, {
    method,
    headers: pairs,
    signal,
    ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
  } as RequestInit);
}

function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const { Readable } = process.getBuiltinModule("node:stream");
  return Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array>;
}

async function send(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { status, headers, body } = response;
  // Close the connection: the unread rest of the body would be parsed as the next request.
  if (!incoming.readableEnded && !incoming.complete) outgoing.setHeader("connection", "close");
  outgoing.writeHead(status, Object.fromEntries(headers));
  if (!body) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  outgoing.once("close", leave);
  if (outgoing.destroyed) leave();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || outgoing.destroyed) break;
      if (!outgoing.write(value)) await drained(outgoing);
    }
  } finally {
    outgoing.off("close", leave);
    outgoing.end();
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off("drain", settle);
      outgoing.off("close", settle);
      resolve();
    };
    outgoing.once("drain", settle);
    outgoing.once("close", settle);
    if (outgoing.destroyed) settle();
  });
}

export const listen: Listen = (fetch, options) =>
  keepListening(async ({ port, hostname }) => {
    const { createServer } = await import("node:http");
    const server = createServer(toNodeHandler(fetch));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, hostname, () => {
        server.off("error", reject);
        resolve();
      });
    });
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    // "error" also fires if a single connection cannot be accepted. Node continues after that.
    server.on("error", (error) => {
      if (!server.listening) fail(error);
    });
    return {
      port: (server.address() as { port: number }).port,
      hostname,
      failed,
      stop: () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeIdleConnections();
        }),
    };
  }, options);
