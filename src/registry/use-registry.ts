/**
 * Creates registries that live in an Effection scope, and defines the contexts of the current
 * registry and store.
 */
import { createContext, type Operation, resource, until, useScope } from "effection";
import type { ToolSessionRegistry } from "../session/types.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { RegistryOptions, ServerHooks } from "./options.ts";
import { LiveToolSessionRegistry } from "./registry.ts";

/**
 * Creates a registry that lives as long as the current scope, and sets `ToolSessionRegistryContext`
 * to it. Use it to run tools in your own program, without MCP. Tools can use the contexts of the
 * scope. The store comes from the options, or else from `ToolSessionStoreContext`. With a store and
 * the option `find`, the registry continues the durable sessions of an earlier run of the program
 * by itself, when they are due. Throws `StoreError` if waiting sessions in the store were sealed
 * with another key.
 *
 * @example
 * ```ts
 * import { main } from "effection";
 * import { createMcpTool, useToolSessionRegistry } from "parley-mcp";
 *
 * const hello = createMcpTool("hello").description("Says hello.").execute(function* () {
 *   return "Hello!";
 * });
 *
 * await main(function* () {
 *   const registry = yield* useToolSessionRegistry();
 *   const session = yield* registry.create(hello, {});
 *   console.log(yield* session.status()); // completed
 * });
 * ```
 */
export function* useToolSessionRegistry(
  options: RegistryOptions = {},
): Operation<ToolSessionRegistry> {
  return yield* useLiveRegistry(options);
}

/** Like `useToolSessionRegistry`, but returns the implementation, for other parts of Parley. */
export function* useLiveRegistry(
  options: RegistryOptions & ServerHooks = {},
): Operation<LiveToolSessionRegistry> {
  const store = options.store ?? (yield* ToolSessionStoreContext.get());
  const registry = yield* registryResource({ ...options, ...(store && { store }) });
  yield* ToolSessionRegistryContext.set(registry);
  return registry;
}

function registryResource(
  options: RegistryOptions & ServerHooks,
): Operation<LiveToolSessionRegistry> {
  return resource(function* (provide) {
    const registry = new LiveToolSessionRegistry(options, yield* useScope());
    // Without `find`, the registry cannot find tools. In that case, the server that uses the
    // registry calls `wake`.
    if (options.store && options.find) registry.wake();
    try {
      yield* provide(registry);
    } finally {
      yield* until(registry.close());
    }
  });
}

/** The context of the current registry. `useToolSessionRegistry` sets it. */
export const ToolSessionRegistryContext = createContext<ToolSessionRegistry>(
  "parley.tool-session-registry",
);

/**
 * The context of the current store. Registries and servers that are created in this scope use the
 * store if their options have none.
 */
export const ToolSessionStoreContext = createContext<ToolSessionStore>("parley.tool-session-store");
