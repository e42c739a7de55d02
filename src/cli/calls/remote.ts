/** The calls of a running server, through its `/console/api`. */
import process from "node:process";
import { ensure, type Operation, until, useAbortSignal } from "effection";
import { EventReader } from "../../client/sse.ts";
import { isObject } from "../../lib/json.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { CallFilter } from "../../model/calls.ts";
import { headersIn } from "../commands/remote-server.ts";
import { FAILED, Problem, USAGE } from "../problem.ts";
import type { CallSource } from "./source.ts";

/** Connects to a server. `header` are the lines of `--header`. */
export function remoteCalls(url: string, header: readonly string[]): CallSource {
  const api = new Api(url, header);
  const path = (id: string) => `calls/${encodeURIComponent(id)}`;
  return {
    list: (filter) => api.get(`calls?${queryOf(filter)}`),
    get: (id) => api.find(path(id)),
    events: (id, { from = 1, limit = 100 }) =>
      api.find(`${path(id)}/events?from=${from}&limit=${limit}`),
    *answer(id, question, answer) {
      const { outcome } = yield* api.post<{ outcome: never }>(`${path(id)}/answer`, {
        question,
        ...answer,
      });
      return outcome;
    },
    *cancel(id, reason) {
      const body = reason === undefined ? {} : { reason };
      return (yield* api.post<{ cancelled: boolean }>(`${path(id)}/cancel`, body)).cancelled;
    },
    *revive(id) {
      return (yield* api.post<{ revived: boolean }>(`${path(id)}/revive`, {})).revived;
    },
    replay: (id) => api.post(`${path(id)}/replay`, {}),
    changes: () => api.changes(),
  };
}

function queryOf(filter: CallFilter): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
  return query.toString();
}

class Api {
  readonly #base: URL;
  readonly #headers: { readonly [name: string]: string };

  constructor(url: string, header: readonly string[]) {
    const parsed = URL.parse(url);
    if (!parsed || !/^https?:$/.test(parsed.protocol)) {
      throw new Problem(
        `Cannot reach "${url}": it is not a URL; write it as http://127.0.0.1:7411`,
        USAGE,
      );
    }
    // The URL may be that of the MCP endpoint, also below a path of a proxy.
    const folder = parsed.pathname.replace(/(?:\/mcp)?\/?$/, "/");
    this.#base = new URL(`${folder}console/api/`, parsed);
    const token = process.env["PARLEY_CONSOLE_TOKEN"];
    this.#headers = { ...(token && { "x-parley-console": token }), ...headersIn(header) };
  }

  get<T>(path: string): Operation<T> {
    return this.#json(path, {});
  }

  /** Like `get`, but returns undefined if there is no such call. */
  *find<T>(path: string): Operation<T | undefined> {
    const response = yield* this.#send(path, {});
    if (response.status === 404 && isFromApi(response)) {
      yield* until(response.body?.cancel() ?? Promise.resolve());
      return undefined;
    }
    return (yield* this.#read(response)) as T;
  }

  post<T>(path: string, body: unknown): Operation<T> {
    return this.#json(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  /** Streams the changes of calls. Each `next` is true for a change, and false at the end. */
  *changes(): Operation<{ next(): Operation<boolean> }> {
    const response = yield* this.#send("watch", {});
    if (!response.ok) yield* this.#read(response);
    const reader = response.body!.getReader();
    yield* ensure(() => void reader.cancel().catch(() => {}));
    const events = new EventReader();
    let waiting = 0;
    return {
      *next() {
        while (waiting === 0) {
          const { done, value } = yield* until(reader.read());
          if (done) return false;
          waiting += events.read(value).length;
        }
        // Changes that have arrived together count as one.
        waiting = 0;
        return true;
      },
    };
  }

  *#json<T>(path: string, init: RequestInit): Operation<T> {
    return (yield* this.#read(yield* this.#send(path, init))) as T;
  }

  *#send(path: string, init: RequestInit): Operation<Response> {
    const signal = yield* useAbortSignal();
    const headers = { ...this.#headers, ...init.headers as Record<string, string> };
    try {
      // Do not follow redirects, because they could send the token to another server.
      const options = { ...init, headers, signal, redirect: "manual" } as const;
      return yield* until(fetch(new URL(path, this.#base), options));
    } catch (error) {
      throw new Problem(
        `Cannot reach the server at ${this.#base.origin}: ${
          messageOf(error)
        }; check that it runs, and its address`,
      );
    }
  }

  *#read(response: Response): Operation<unknown> {
    let body: unknown;
    try {
      body = yield* until(response.json());
    } catch {
      body = undefined;
    }
    if (response.ok && body !== undefined) return body;
    const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
    if (response.status === 401) {
      throw new Problem(
        `Cannot use the console at ${this.#base.origin}: the server does not accept the token; set PARLEY_CONSOLE_TOKEN to the same value here and for the server, or add --header "Authorization: Bearer …"`,
      );
    }
    if (typeof error["message"] === "string" && isFromApi(response)) {
      throw new Problem(error["message"], response.status === 400 ? USAGE : FAILED);
    }
    throw new Problem(
      `Cannot use the console at ${this.#base.origin}: the server answered with status ${response.status}; start it with --console`,
    );
  }
}

/** Returns true if the console answered, and not another part of the server or a proxy. */
function isFromApi({ headers }: Response): boolean {
  return headers.get("content-type") === "application/json" &&
    headers.get("cross-origin-resource-policy") === "same-origin";
}
