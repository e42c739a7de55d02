import { createContext, type Operation, resource, until, useScope } from "effection";
import type { ToolSessionRegistry } from "../session/types.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { RegistryOptions } from "./options.ts";
import { LiveToolSessionRegistry } from "./registry.ts";

/**
 * A registry for as long as the surrounding scope lives, and the one that
 * `ToolSessionRegistryContext` names there. Tools see the contexts of that scope. For
 * programs that run tools themselves, without MCP around them.
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
): Operation<LiveToolSessionRegistry> {
  const store = options.store ?? (yield* ToolSessionStoreContext.get());
  const registry = yield* registryResource({ ...options, ...(store && { store }) });
  return yield* ToolSessionRegistryContext.set(registry) as Operation<LiveToolSessionRegistry>;
}

function registryResource(options: RegistryOptions): Operation<LiveToolSessionRegistry> {
  return resource(function* (provide) {
    const registry = new LiveToolSessionRegistry(options, yield* useScope());
    try {
      yield* provide(registry);
    } finally {
      yield* until(registry.close());
    }
  });
}

/** The registry that `useToolSessionRegistry` made for this scope. */
export const ToolSessionRegistryContext = createContext<ToolSessionRegistry>(
  "parley.tool-session-registry",
);

/** The store that a registry made in this scope uses, unless it is given another. */
export const ToolSessionStoreContext = createContext<ToolSessionStore>("parley.tool-session-store");
