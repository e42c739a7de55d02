/** The folder of skills that a server serves besides its tools. */
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Operation, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import type { Parley } from "../../parley.ts";
import type { FinalizedMcpSkill } from "../../tool/skill.ts";
import type { OperatorLog } from "../log.ts";
import { Problem } from "../problem.ts";

export interface SkillsFlags {
  /** The folder of skills. Default: `skills` beside a folder named `tools`. */
  readonly skills?: string;
}

/** A folder of skills, and the skills that it contained at the start. */
export interface LoadedSkills {
  readonly folder: string;
  readonly skills: readonly FinalizedMcpSkill[];
}

/** Reads the skills of a server. Undefined if it has no folder of skills. */
export async function loadSkills(
  modules: readonly string[],
  { skills }: SkillsFlags,
): Promise<LoadedSkills | undefined> {
  const folder = skills ?? modules.map(besideTools).find(isFolder);
  if (folder === undefined) return undefined;
  if (!isFolder(folder)) {
    throw new Problem(
      `Cannot load skills from "${folder}": there is no such folder; check the path`,
    );
  }
  const { readMcpSkills } = await import("../../skills/folder.ts");
  try {
    return { folder, skills: await readMcpSkills(folder) };
  } catch (error) {
    throw new Problem(
      `Cannot load skills from "${folder}": ${messageOf(error)}; fix the skill, or remove it`,
    );
  }
}

/** Serves changed skills, until the operation is halted. */
export function* reloadSkills(
  parley: Pick<Parley, "add" | "remove" | "resourceUpdated">,
  { folder, skills }: LoadedSkills,
  log: OperatorLog,
): Operation<void> {
  const { watchMcpSkills } = yield* until(import("../../skills/watch.ts"));
  yield* watchMcpSkills(folder, skills, {
    changed({ added, removed, updated }) {
      for (const name of removed) parley.remove("skill", name);
      for (const skill of added) parley.add(skill);
      for (const uri of updated) parley.resourceUpdated(uri);
      const names = [...new Set([...added.map(({ name }) => name), ...removed])];
      log.say("info", `skills changed: ${names.join(", ")}`);
    },
    failed: (error) =>
      log.say("error", "skills changed, but cannot be loaded; serving them as they were", {
        folder,
        reason: messageOf(error),
      }),
  });
}

function besideTools(path: string): string {
  const full = resolve(path);
  return basename(full) === "tools" ? join(dirname(full), "skills") : "";
}

function isFolder(path: string): boolean {
  return path !== "" && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
