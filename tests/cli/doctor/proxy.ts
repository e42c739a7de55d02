/** A reverse proxy on loopback that does one thing wrong. */
import { Buffer } from "node:buffer";
import type { Operation } from "effection";
import type { IncomingMessage } from "node:http";
import { useHttp } from "../../support/http-server.ts";

export interface Mistakes {
  /** Collects each response before it passes it on. */
  readonly buffers?: boolean;
  /** Changes the headers of responses. */
  readonly headers?: (headers: Headers, request: IncomingMessage) => void;
  /** The status of requests that it answers itself. */
  readonly answers?: (request: IncomingMessage) => number | undefined;
}

export function useProxy(target: string, mistakes: Mistakes): Operation<string> {
  return useHttp(async (request, response) => {
    const { buffers = false, headers: change, answers } = mistakes;
    const own = answers?.(request);
    if (own !== undefined) return void response.writeHead(own).end();
    const left = new AbortController();
    response.on("close", () => left.abort());
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const passed = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      if (!HOP.includes(name)) passed.set(name, String(value));
    }
    try {
      const answer = await fetch(new URL(request.url!, target), {
        method: request.method!,
        headers: passed,
        ...(parts.length > 0 && { body: Buffer.concat(parts) }),
        signal: left.signal,
        redirect: "manual",
      });
      const headers = new Headers(answer.headers);
      for (const name of HOP) headers.delete(name);
      change?.(headers, request);
      const whole = buffers ? Buffer.from(await answer.arrayBuffer()) : undefined;
      response.writeHead(answer.status, Object.fromEntries(headers));
      if (whole) return void response.end(whole);
      response.flushHeaders();
      for await (const part of answer.body ?? []) response.write(part);
      response.end();
    } catch {
      response.destroy();
    }
  });
}

const HOP = ["host", "connection", "content-length", "transfer-encoding", "content-encoding"];
