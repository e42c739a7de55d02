/**
 * Receives the answer of the authorization server: a listener on this machine, to which the browser
 * is sent at the end of a sign-in (RFC 8252).
 */
import { type Operation, resource, until, withResolvers } from "effection";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ClientError } from "../client-error.ts";

const HOST = "127.0.0.1";
const PATH = "/callback";

export interface Callback {
  readonly port: number;
  readonly url: string;
  /**
   * Starts to accept the answer to the sign-in with this `state`. The operation waits for the
   * answer.
   */
  expect(state: string): Operation<URLSearchParams>;
}

/** The URL of the callback. Authorization servers must accept it with any port. */
export function callbackUrl(port: number): string {
  return `http://${HOST}:${port}${PATH}`;
}

export interface CallbackOptions {
  /** The port that the user asked for. */
  readonly port?: number | undefined;
  /** The port of an earlier sign-in, which is used again if it is free. */
  readonly before?: number | undefined;
}

/** Listens for the browser until the scope ends. */
export function useCallback({ port, before }: CallbackOptions): Operation<Callback> {
  return resource(function* (provide) {
    const waiting = new Map<string, (parameters: URLSearchParams) => void>();
    const server = createServer((request, response) => {
      const url = URL.parse(request.url ?? "", `http://${HOST}`);
      const found = request.method === "GET" && url?.pathname === PATH;
      const state = url?.searchParams.get("state") ?? "";
      // A request with another `state` does not end the sign-in.
      const take = found ? waiting.get(state) : undefined;
      response.writeHead(take ? 200 : found ? 400 : 404, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        connection: "close",
      });
      // Respond to the browser first, because the listener may close as soon as the sign-in
      // continues.
      response.end(page(take !== undefined), () => take?.(url!.searchParams));
    });
    const actual = yield* until(listening(server, port, before));
    try {
      yield* provide({
        port: actual,
        url: callbackUrl(actual),
        expect(state) {
          const { operation, resolve } = withResolvers<URLSearchParams>();
          waiting.set(state, (parameters) => {
            // Only the first answer counts.
            waiting.delete(state);
            resolve(parameters);
          });
          return operation;
        },
      });
    } finally {
      server.closeAllConnections();
      yield* until(new Promise((resolve) => server.close(resolve)));
    }
  });
}

async function listening(
  server: Server,
  port: number | undefined,
  before: number | undefined,
): Promise<number> {
  if (port !== undefined) {
    try {
      return await listenOn(server, port);
    } catch {
      throw new ClientError(
        `Cannot sign in: port ${port} of this machine is in use; free it, or choose another with --callback-port`,
      );
    }
  }
  if (before !== undefined) {
    try {
      return await listenOn(server, before);
    } catch {
      // Another program uses the port now, so use any free port.
    }
  }
  return await listenOn(server, 0);
}

function listenOn(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(error);
    server.once("error", fail);
    server.listen(port, HOST, () => {
      server.off("error", fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function page(taken: boolean): string {
  const text = taken
    ? "You can close this page and go back to the terminal."
    : "This sign-in has ended. Start a new one in the terminal.";
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Parley</title><p>${text}</p></html>`;
}
