/**
 * A proxy that cuts connections between one message and the next.
 *
 * Every request passes these boundaries, and at each the test decides whether the
 * connection is cut there, for the client and for the server:
 *
 *   request   the client has sent it; the server has not received it
 *   head      the server has begun to respond; the client has received nothing
 *   event     the client has received one more event of a stream
 *   end       the server has finished; the client does not know yet
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Boundary = "request" | "head" | "event" | "end";

/** The position of a request when a boundary is reached. */
export interface Crossing {
  readonly boundary: Boundary;
  readonly method: string;
  /** The posted body. */
  readonly posted: string;
  /** The last event that was passed on. */
  readonly event: string | undefined;
}

export interface CuttingProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Passes everything on to `target`, and cuts where `cuts` says so. */
export async function cuttingProxy(
  target: string,
  cuts: (crossing: Crossing) => boolean,
): Promise<CuttingProxy> {
  const gone = new AbortController();
  const server = createServer((request, response) => {
    pass(target, request, response, cuts, gone.signal).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${new URL(target).pathname}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        gone.abort();
      }),
  };
}

async function pass(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  cuts: (crossing: Crossing) => boolean,
  gone: AbortSignal,
): Promise<void> {
  const method = request.method!;
  const left = new AbortController();
  response.on("close", () => left.abort());
  const posted = await textOf(request);
  const cut = async (boundary: Boundary, event?: string) => {
    if (!cuts({ boundary, method, posted, event })) return false;
    // A client that has not read an event when its connection is cut loses that event.
    if (event !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    left.abort();
    request.socket.end();
    return true;
  };

  if (await cut("request")) return;
  const answer = await fetch(target, {
    method,
    headers: headersOf(request, target),
    ...(method === "POST" && { body: posted }),
    signal: AbortSignal.any([left.signal, gone]),
  });
  if (await cut("head")) return void answer.body?.cancel().catch(() => {});
  const headers = Object.fromEntries(answer.headers);
  delete headers["content-length"];
  delete headers["transfer-encoding"];
  // On a reused connection, some clients repeat a request that was cut by themselves.
  response.writeHead(answer.status, { ...headers, connection: "close" });
  response.flushHeaders();
  const isStream = answer.headers.get("content-type") === "text/event-stream";
  for await (const part of isStream ? events(answer.body!) : whole(answer)) {
    response.write(part);
    if (isStream && await cut("event", part)) return;
  }
  if (!await cut("end")) response.end();
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += chunk;
  return text;
}

function headersOf({ headers }: IncomingMessage, target: string): Record<string, string> {
  const passed = Object.entries(headers).filter(([name]) =>
    !["host", "connection", "content-length", "transfer-encoding"].includes(name)
  );
  return { ...Object.fromEntries(passed) as Record<string, string>, host: new URL(target).host };
}

async function* whole(answer: Response): AsyncGenerator<string> {
  yield await answer.text();
}

/** The events of a stream, unchanged. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      yield text.slice(0, end + 2);
      text = text.slice(end + 2);
    }
  }
}
