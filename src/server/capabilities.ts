/** What the server says it can do; the same in both eras, except where they differ. */
import type { JsonObject } from "../model/content.ts";
import type { Catalog } from "./catalog.ts";
import type { Definition } from "../tool/types.ts";
import type { ServerCore } from "./core.ts";

/** Made once for each state of the catalog: every modern request looks here. */
const made = new WeakMap<Catalog, { readonly version: number; readonly value: JsonObject }>();

export function serverCapabilities({ catalog, arrival }: ServerCore): JsonObject {
  const known = made.get(catalog);
  if (known?.version === catalog.version) return known.value;
  const value = capabilitiesOf(catalog, arrival?.kinds ?? []);
  made.set(catalog, { version: catalog.version, value });
  return value;
}

function capabilitiesOf(catalog: Catalog, coming: readonly Definition["kind"][]): JsonObject {
  const completes = [...catalog.prompts.values(), ...catalog.resources.values()]
    .some(({ completers }) => completers.size > 0);
  return {
    ...((catalog.tools.size > 0 || coming.includes("tool")) && { tools: { listChanged: true } }),
    ...((catalog.prompts.size > 0 || coming.includes("prompt")) && {
      prompts: { listChanged: true },
    }),
    ...((catalog.resources.size > 0 || coming.includes("resource")) && {
      resources: { subscribe: true, listChanged: true },
    }),
    ...(completes && { completions: {} }),
  };
}
