/**
 * Serving on Node, and on anything else that has Node's `http`: its requests and
 * responses become those of the web platform, and back.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import process from "node:process";
import { keepListening } from "./keep-listening.ts";
import type { Listen } from "./types.ts";

type Fetch = (request: Request, connection?: unknown) => Promise<Response>;

/**
 * Makes of a fetch handler what `http.createServer()` and Express take. Deno, Bun and
 * Hono take the `fetch` itself.
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
  fetch: Fetch,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const gone = new AbortController();
    // Fires after a full answer too; an abort means nothing by then.
    outgoing.once("close", () => gone.abort());
    // A broken connection is told by "close"; unheard, it would end the process.
    outgoing.on("error", () => {});
    try {
      const request = toRequest(incoming, gone.signal);
      // The same shape as Deno's, which says who is at the other end.
      const connection = { remoteAddr: { hostname: incoming.socket.remoteAddress } };
      await send(await fetch(request, connection), incoming, outgoing);
    } catch {
      // A fetch handler answers whatever happens, so the request itself was no HTTP.
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
    // HTTP/2 writes what belongs to the request line as headers.
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
  // What was not read of the request would be taken for the next one.
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
    // One connection that cannot be accepted is an error too, after which Node goes on.
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
