/** The definitions that `parley serve` and `parley stdio` start with. */
import type { LazyDefinitions } from "../../server/lazy-catalog.ts";
import { startIsOver } from "../../platform/warm-up.ts";
import type { Served } from "../../tool/skill.ts";
import type { Announced, Environment } from "../environment.ts";
import { type LoadedSkills, loadSkills, type SkillsFlags } from "./skills.ts";

export interface DefinitionsToServe {
  readonly announced: readonly Announced[];
  readonly serve: readonly Served[] | LazyDefinitions;
  /** The folder of skills, to be watched. Undefined if there is none. */
  readonly skills: LoadedSkills | undefined;
}

/** Like `loadDefinitions` of load.ts, but an executable loads its shipped tools on first use. */
export async function loadDefinitions(
  paths: readonly string[],
  flags: SkillsFlags,
  environment: Environment,
): Promise<DefinitionsToServe> {
  const { announced, shipped } = environment;
  const skills = await loadSkills(paths, flags);
  const more = skills?.skills ?? [];
  if (paths.length === 0 && announced) {
    const all = [...announced, ...more];
    const kinds = [...new Set(all.map(({ kind }) => kind))];
    // Start-up ends when the shipped tools are loaded.
    const load = async () => [...await shipped().finally(startIsOver), ...more];
    return { announced: all, serve: { kinds, load }, skills };
  }
  const { loadDefinitions } = await import("./load.ts");
  const definitions = [...await loadDefinitions(paths, environment), ...more];
  startIsOver();
  return { announced: definitions, serve: definitions, skills };
}
