/// <reference lib="dom" />
/** The page's connection to the server: its token, and requests with it. */
import { EventReader } from "../../client/sse.ts";
import type { AboutConsole } from "./document.ts";

const KEY = "parley-console-token";
const HEADER = "x-parley-console";

/** The server refused a request. */
export class Refused extends Error {
  override readonly name = "Refused";
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** The address of a path below the page, such as `api/calls`. */
function below(path: string): URL {
  return new URL(`console/${path}`, location.href);
}

/** Removes the ticket of a link from the address, and exchanges it for a token. */
export async function enter(): Promise<void> {
  const [, ticket] = /^#ticket=(.+)$/.exec(location.hash) ?? [];
  if (ticket === undefined) return;
  history.replaceState(null, "", location.pathname);
  const response = await fetch(below("token"), { method: "POST", body: ticket });
  if (!response.ok) throw await refusalOf(response);
  sessionStorage.setItem(KEY, (await response.json()).token);
}

let lock: (refused: Refused) => void = () => {};

/** Calls `locked` if the server does not know the token any more: it expired, or the server restarted. */
export function onLocked(locked: (refused: Refused) => void): void {
  lock = locked;
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(KEY);
  const headers = new Headers(init.headers);
  if (token !== null) headers.set(HEADER, token);
  const response = await fetch(below(path), { ...init, headers, redirect: "error" });
  if (response.ok) return response;
  const refused = await refusalOf(response);
  if (refused.status === 401) lock(refused);
  throw refused;
}

async function refusalOf(response: Response): Promise<Refused> {
  const body = await response.json().catch(() => undefined);
  const message = body?.error?.message ?? `The server answered with status ${response.status}.`;
  return new Refused(response.status, String(message));
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return await (await send(path, signal ? { signal } : {})).json();
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  return await (await send(path, init)).json();
}

export const about = (): Promise<AboutConsole> => get("about");

/** The address of the MCP endpoint. */
export function mcpUrl({ mcp }: AboutConsole): string {
  return new URL(mcp.replace(/^\//, ""), location.href).href;
}

/** Milliseconds to wait after a failed request for changes. */
const RETRY = 2_000;
/** Milliseconds between two updates, however fast calls change. */
const PACE = 500;
/** After an update, the page waits this many times as long as the update took. */
const SHARE = 40;

/**
 * Calls `changed` at once, and whenever something has changed since, until the signal is aborted.
 *
 * The stream of changes is closed after its first event, and opened again with the next update. So
 * a busy server does not send an event for each of its calls, and a slow one is asked less often.
 * `changed` returns a promise of its update.
 */
export async function follow(
  path: string,
  signal: AbortSignal,
  changed: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    const stream = new AbortController();
    const stop = () => stream.abort();
    signal.addEventListener("abort", stop);
    let wait = RETRY;
    try {
      const headers = { accept: "text/event-stream" };
      const { body } = await send(path, { signal: stream.signal, headers });
      const start = performance.now();
      await changed();
      wait = Math.max(PACE, SHARE * (performance.now() - start));
      await firstEvent(body!);
    } catch (error) {
      if (error instanceof Refused && error.status < 500) return;
    }
    stream.abort();
    signal.removeEventListener("abort", stop);
    await new Promise((resolve) => setTimeout(resolve, Math.min(wait, MAX_WAIT)));
  }
}

const MAX_WAIT = 10_000;

/** Resolves with the first event of a stream, or with its end. */
async function firstEvent(body: ReadableStream<Uint8Array>): Promise<void> {
  const events = new EventReader();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || events.read(value).some(({ data }) => data !== "")) return;
  }
}
