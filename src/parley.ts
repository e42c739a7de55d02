/** `createParley` and `useParley`: put the parts of a server together. */
import { type Operation, resource, until } from "effection";
import { TokenGate } from "./auth/gate.ts";
import type { Console } from "./console/console.ts";
import { listen } from "./platform/listen.ts";
import { peerOf } from "./platform/peer.ts";
import { processStdio } from "./platform/process-stdio.ts";
import { registryLimits } from "./registry/options.ts";
import { LiveToolSessionRegistry } from "./registry/registry.ts";
import { ToolSessionRegistryContext, ToolSessionStoreContext } from "./registry/use-registry.ts";
import type { OperatorCalls, ToolSessionRegistry } from "./session/types.ts";
import type { Served } from "./tool/skill.ts";
import type { ConsoleSite, ServerCore } from "./server/core.ts";
import type { ParleyOptions } from "./server/options.ts";
import { Handler, type HandlerOptions, type McpHandler } from "./transport/http/handler.ts";
import { Connection } from "./transport/stdio/connection.ts";
import { serveStdio } from "./transport/stdio/serve-stdio.ts";
import type { Stdio } from "./transport/types.ts";

/** A server. It does not listen by itself: pass its `fetch` to an HTTP server, or call `stdio`. */
export interface Parley extends McpHandler {
  /** Serves one client over stdin and stdout, or over another channel, until the input ends. */
  stdio(options?: { readonly channel?: Stdio; readonly signal?: AbortSignal }): Promise<void>;
  /** Adds a tool, prompt, resource or skill, and notifies all clients. */
  add(definition: Served): void;
  /**
   * Removes a tool, prompt, resource or skill, and notifies all clients. Returns false if there was
   * none.
   */
  remove(kind: Served["kind"], name: string): boolean;
  /** Tells the clients that subscribed to a resource that the resource has changed. */
  resourceUpdated(uri: string): void;
  /**
   * The calls of this server, for operators: lists them, shows their events, answers, cancels and
   * revives them.
   */
  readonly calls: OperatorCalls;
  /**
   * Returns a new link to the console, as a path of this server. The link works once, and only on
   * this machine. Rejects if the option `console` is off.
   */
  consoleLink(): Promise<string>;
  /** The number of objects in memory. */
  readonly counts: {
    /** Calls that are running or waiting. */
    readonly live: number;
    /** Finished calls that are kept for their clients. */
    readonly finished: number;
    /** Open streams. */
    readonly streams: number;
    /** Client sessions of the legacy era. */
    readonly clientSessions: number;
  };
}

/**
 * Creates a server of tools, prompts and resources. It does not listen by itself: pass its `fetch`
 * to an HTTP server, or call `stdio()` to serve the program that started this one.
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
  return buildParley(options);
}

function buildParley(options: HandlerOptions): Parley {
  const { auth } = options;
  const gate = auth && new TokenGate({ ...options, auth });
  const site: LazyConsole | undefined = options.console
    ? new LazyConsole(options, gate, () => handler.core)
    : undefined;
  const handler: Handler = new Handler({
    openPort: listen,
    peerOf,
    ...options,
    ...(gate && { gate }),
    ...(site && { consoleSite: site }),
  });
  const { core, eras } = handler;
  const { catalog, changes, registry } = core;
  const changed = (definition: Served) => {
    // A skill is in the list of resources too, and has no notification of its own.
    const list = definition.kind === "skill" ? "resources" : `${definition.kind}s` as const;
    changes.announce({ type: "list_changed", list }, definition);
  };
  return {
    fetch: handler.fetch,
    close: (options) => handler.close(options),
    stdio({ channel = processStdio(), signal } = {}) {
      core.pages.privately = true;
      const connect = (wake: () => void) => new Connection(core, eras, wake);
      return serveStdio(connect, channel, { limit: core.limits.maxBody, signal });
    },
    add(definition) {
      catalog.add(definition);
      changed(definition);
    },
    remove(kind, name) {
      const definition = catalog.find(kind, name);
      if (!definition) return false;
      catalog.remove(kind, name);
      changed(definition);
      return true;
    },
    resourceUpdated: (uri) => changes.announce({ type: "resource_updated", uri }),
    calls: registry.calls,
    async consoleLink() {
      if (site) return (await site.loaded()).link();
      throw new TypeError(
        'Cannot create a link to the console: it is off; set the option "console"',
      );
    },
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

/** The least number of characters of a token that programs use for the console. */
const MIN_CONSOLE_TOKEN = 32;

/** The console. Its code is loaded on first use. */
class LazyConsole implements ConsoleSite {
  #console: Promise<Console> | undefined;
  readonly #load: () => Promise<Console>;
  /** False if the MCP endpoint is at the root. */
  readonly #hasRoot: boolean;

  constructor(options: ParleyOptions, gate: TokenGate | undefined, core: () => ServerCore) {
    const { console } = options;
    this.#hasRoot = options.path !== "/";
    const token = typeof console === "object" ? console.token : undefined;
    if (token !== undefined && token.length < MIN_CONSOLE_TOKEN) {
      throw new TypeError(
        `Cannot use the console's token: it is shorter than ${MIN_CONSOLE_TOKEN} characters; generate a random one`,
      );
    }
    this.#load = async () => {
      const { Console } = await import("./console/console.ts");
      return new Console(core(), options, gate);
    };
  }

  loaded(): Promise<Console> {
    return this.#console ??= this.#load();
  }

  handles(path: string): boolean {
    return path === "/" && this.#hasRoot || path === "/console" || path.startsWith("/console/");
  }

  async serve(request: Request, path: string, isLocal: boolean): Promise<Response> {
    return await (await this.loaded()).serve(request, path, isLocal);
  }

  async close(): Promise<void> {
    await (await this.#console)?.close();
  }
}

/**
 * The same as `createParley`, but with `fetch` and `close` only, for a server that is one route of
 * a larger application.
 */
export function createMcpHandler(options: ParleyOptions = {}): McpHandler {
  const { fetch, close } = createParley(options);
  return { fetch, close };
}

/**
 * The same as `createParley`, as a resource of the current Effection scope: the server closes when
 * the scope ends. The server uses the contexts of the scope:
 *
 * - If `ToolSessionRegistryContext` is set, the server runs its calls in that registry. The store,
 *   the clock and the limits on sessions are then those of the registry, and cannot be options of
 *   the server. Closing the server ends only its own calls.
 * - Otherwise, if `ToolSessionStoreContext` is set and the options have no `store`, the server uses
 *   that store.
 *
 * @example
 * ```ts
 * import { main } from "effection";
 * import { createMcpTool, InMemoryToolSessionStore, ToolSessionStoreContext, useParley } from "parley-mcp";
 *
 * const hello = createMcpTool("hello").description("Says hello.").execute(function* () {
 *   return "Hello!";
 * });
 *
 * await main(function* () {
 *   yield* ToolSessionStoreContext.set(new InMemoryToolSessionStore());
 *   const parley = yield* useParley({ serve: [hello] });
 *   console.log(parley.counts.live); // 0
 * });
 * ```
 */
export function* useParley(options: ParleyOptions = {}): Operation<Parley> {
  const registry = yield* ToolSessionRegistryContext.get();
  if (registry) return yield* parleyResource({ ...options, registry: served(registry, options) });
  const store = options.store ?? (yield* ToolSessionStoreContext.get());
  return yield* parleyResource({ ...options, ...(store && { store }) });
}

function parleyResource(options: HandlerOptions): Operation<Parley> {
  return resource(function* (provide) {
    const parley = buildParley(options);
    try {
      yield* provide(parley);
    } finally {
      yield* until(parley.close());
    }
  });
}

const REGISTRY_OPTIONS = ["store", "sealer", "clock", "sampling", "report", "onCall"] as const;

/** Returns the registry of a scope. Throws if a server with these options cannot use it. */
function served(registry: ToolSessionRegistry, options: ParleyOptions): LiveToolSessionRegistry {
  if (!(registry instanceof LiveToolSessionRegistry)) {
    throw new TypeError(
      "Cannot use the registry of this scope: Parley did not create it; create it with useToolSessionRegistry",
    );
  }
  const limits = Object.keys(registryLimits({})).filter((key) => key in (options.limits ?? {}));
  const [option] = [
    ...REGISTRY_OPTIONS.filter((key) => options[key] !== undefined),
    ...limits.map((key) => `limits.${key}`),
  ];
  if (option === undefined) return registry;
  throw new TypeError(
    `Cannot use the option "${option}": this scope has a registry with its own settings; pass the option to useToolSessionRegistry`,
  );
}
