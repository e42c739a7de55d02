import { type Operation, resource, until, useScope } from "effection";
import { ToolSessionRegistryContext, ToolSessionStoreContext } from "./contexts.ts";
import { LiveToolSessionRegistry } from "./registry.ts";
import type { RegistryOptions } from "./registry-options.ts";

/**
 * A registry for as long as the surrounding scope lives, and the one that
 * `ToolSessionRegistryContext` names there. Tools see the contexts of that scope.
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
