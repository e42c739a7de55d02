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

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(KEY);
  const headers = new Headers(init.headers);
  if (token !== null) headers.set(HEADER, token);
  const response = await fetch(below(path), { ...init, headers, redirect: "error" });
  if (!response.ok) throw await refusalOf(response);
  return response;
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

/** Milliseconds between attempts to open a stream again. */
const RETRY = 2_000;

/**
 * Calls `heard` with each event of a stream, until the signal is aborted. `opened` is called each
 * time the stream is open: earlier events were missed. An `EventSource` cannot send headers.
 */
export async function follow(
  path: string,
  signal: AbortSignal,
  heard: (data: unknown) => void,
  opened: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { body } = await send(path, { signal, headers: { accept: "text/event-stream" } });
      opened();
      const events = new EventReader();
      const reader = body!.getReader();
      for (let { done, value } = await reader.read(); !done;) {
        for (const { data } of events.read(value!)) if (data !== "") heard(JSON.parse(data));
        ({ done, value } = await reader.read());
      }
    } catch (error) {
      if (error instanceof Refused && error.status < 500) return;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}
