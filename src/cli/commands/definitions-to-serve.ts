/** The definitions that `parley serve` and `parley stdio` start with. */
import type { LazyDefinitions } from "../../server/lazy-catalog.ts";
import { startIsOver } from "../../platform/warm-up.ts";
import type { Definition } from "../../tool/types.ts";
import type { Announced, Environment } from "../environment.ts";

export interface DefinitionsToServe {
  readonly announced: readonly Announced[];
  readonly serve: readonly Definition[] | LazyDefinitions;
}

/** Like `loadDefinitions` of load.ts, but an executable loads its shipped tools on first use. */
export async function loadDefinitions(
  paths: readonly string[],
  environment: Environment,
): Promise<DefinitionsToServe> {
  const { announced, shipped } = environment;
  if (paths.length === 0 && announced) {
    const kinds = [...new Set(announced.map(({ kind }) => kind))];
    // Start-up ends when the shipped tools are loaded.
    const load = () => shipped().finally(startIsOver);
    return { announced, serve: { kinds, load } };
  }
  const { loadDefinitions } = await import("./load.ts");
  const definitions = await loadDefinitions(paths, environment);
  startIsOver();
  return { announced: definitions, serve: definitions };
}
