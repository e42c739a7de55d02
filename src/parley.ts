/** `createParley`: a server made of tools, prompts and resources, and how it is reached. */
import { type Operation, resource, until } from "effection";
import { listen } from "./platform/listen.ts";
import { peerOf } from "./platform/peer.ts";
import { processStdio } from "./platform/process-stdio.ts";
import type { SetAsideCalls } from "./session/types.ts";
import type { Definition } from "./tool/types.ts";
import type { ParleyOptions } from "./server/options.ts";
import { Handler, type McpHandler } from "./transport/http/handler.ts";
import { Connection } from "./transport/stdio/connection.ts";
import { serveStdio } from "./transport/stdio/serve-stdio.ts";
import type { Stdio } from "./transport/types.ts";

/** A server, not yet listening anywhere: hand its `fetch` to whatever listens. */
export interface Parley extends McpHandler {
  /** Serves one client over stdin and stdout, or over another channel, until its input ends. */
  stdio(options?: { readonly channel?: Stdio; readonly signal?: AbortSignal }): Promise<void>;
  /** Offers something more, and tells every client. */
  add(definition: Definition): void;
  /** Offers something no longer, and tells every client. */
  remove(kind: Definition["kind"], name: string): boolean;
  /** Tells every client that subscribed to it that a resource has changed. */
  resourceUpdated(uri: string): void;
  /**
   * Durable calls that ended the server each time they were taken up. They stay on record, and
   * run again only if they are revived here.
   */
  readonly setAside: SetAsideCalls;
  /** What is alive right now. */
  readonly counts: {
    readonly live: number;
    readonly finished: number;
    readonly streams: number;
    readonly clientSessions: number;
  };
}

/**
 * Makes a server of tools, prompts and resources. It listens nowhere by itself: its
 * `fetch` goes to whatever serves HTTP, its `stdio()` talks to the program that
 * started this one.
 *
 * @example
 * ```ts
 * import { createMcpTool, createParley } from "parley-mcp";
 *
 * const hello = createMcpTool("hello").description("Says hello.").execute(function* () {
 *   return "Hello!";
 * });
 * const parley = createParley({ serve: [hello] });
 * // Deno.serve({ hostname: "127.0.0.1", port: 7411 }, parley.fetch), or on Bun:
 * // Bun.serve({ hostname: "127.0.0.1", port: 7411, fetch: parley.fetch })
 * await parley.close();
 * ```
 */
export function createParley(options: ParleyOptions = {}): Parley {
  const handler = new Handler({ openPort: listen, peerOf, ...options });
  const { core, modern } = handler;
  const { catalog, changes, registry } = core;
  const changed = (kind: Definition["kind"]) =>
    changes.announce({ type: "list_changed", list: `${kind}s` });
  return {
    fetch: handler.fetch,
    close: (options) => handler.close(options),
    stdio({ channel = processStdio(), signal } = {}) {
      core.pages.privately = true;
      const connect = (wake: () => void) => new Connection(core, modern, wake);
      return serveStdio(connect, channel, { limit: core.limits.maxBody, signal });
    },
    add(definition) {
      catalog.add(definition);
      changed(definition.kind);
    },
    remove(kind, name) {
      const removed = catalog.remove(kind, name);
      if (removed) changed(kind);
      return removed;
    },
    resourceUpdated: (uri) => changes.announce({ type: "resource_updated", uri }),
    setAside: registry.setAside,
    get counts() {
      const { live, finished } = registry.counts;
      return {
        live,
        finished,
        streams: core.streams.total,
        clientSessions: handler.clientSessions,
      };
    },
  };
}

/**
 * The same as `createParley` with nothing but `fetch` and `close`, for where a server
 * is one route among others and nobody adds tools to it later.
 */
export function createMcpHandler(options: ParleyOptions = {}): McpHandler {
  const { fetch, close } = createParley(options);
  return { fetch, close };
}

export function useParley(options: ParleyOptions): Operation<Parley> {
  return resource(function* (provide) {
    const parley = createParley(options);
    try {
      yield* provide(parley);
    } finally {
      yield* until(parley.close());
    }
  });
}
