/** What the server says it can do; the same in both eras, except where they differ. */
import type { JsonObject } from "../content.ts";
import type { ServerCore } from "./core.ts";

export function serverCapabilities({ catalog }: ServerCore): JsonObject {
  const completes = [...catalog.prompts.values(), ...catalog.resources.values()]
    .some(({ completers }) => completers.size > 0);
  return {
    ...(catalog.tools.size > 0 && { tools: { listChanged: true } }),
    ...(catalog.prompts.size > 0 && { prompts: { listChanged: true } }),
    ...(catalog.resources.size > 0 && { resources: { subscribe: true, listChanged: true } }),
    ...(completes && { completions: {} }),
  };
}
