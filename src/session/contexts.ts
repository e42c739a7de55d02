/** How operations find the registry and the store without being handed them. */
import { createContext } from "effection";
import type { ToolSessionStore } from "../store/types.ts";
import type { ToolSessionRegistry } from "./types.ts";

/** The registry that `useToolSessionRegistry` made for this scope. */
export const ToolSessionRegistryContext = createContext<ToolSessionRegistry>(
  "parley.tool-session-registry",
);

/** The store that a registry made in this scope uses, unless it is given another. */
export const ToolSessionStoreContext = createContext<ToolSessionStore>("parley.tool-session-store");
