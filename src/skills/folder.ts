/**
 * Reads skills from a folder. Each folder below it that contains a `SKILL.md` is a skill.
 *
 * SKILLS-1  Only files below the folder are read: a symbolic link that leads out of it is refused.
 * SKILLS-2  Files whose names begin with a dot are left out, such as `.env` and `.git`.
 */
import { promises as fs } from "node:fs";
import { join, sep } from "node:path";
import { isObject } from "../lib/json.ts";
import { messageOf } from "../lib/message-of.ts";
import type { JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import { textOf } from "../tool/mime-type.ts";
import {
  checkedSkill,
  type FinalizedMcpSkill,
  MAX_SKILL_FILES,
  MAX_SKILL_SIZE,
  SKILL_FILE,
} from "../tool/skill.ts";

/** How deep skills and their files may be nested. A loop of links would otherwise never end. */
const MAX_DEPTH = 16;

/**
 * Reads all skills in a folder, such as `skills/order-cakes/SKILL.md`. Skills can be grouped in
 * folders, as in `skills/bakery/order-cakes/SKILL.md`. Throws `DefinitionError` if a skill is not valid.
 *
 * @example
 * ```ts
 * import { createParley, readMcpSkills } from "parley-mcp";
 *
 * export async function server() {
 *   return createParley({ serve: await readMcpSkills("skills") });
 * }
 * ```
 */
export async function readMcpSkills(folder: string): Promise<FinalizedMcpSkill[]> {
  const root = await fs.realpath(folder);
  const skills: FinalizedMcpSkill[] = [];
  for (const path of await skillFolders(root, "")) skills.push(await readSkill(root, path));
  return skills;
}

/** The paths of the folders that contain a `SKILL.md`, relative to the root. */
async function skillFolders(root: string, path: string): Promise<string[]> {
  const names = await visibleNames(join(root, path));
  if (path !== "" && names.includes(SKILL_FILE)) return [path];
  const found: string[] = [];
  for (const name of names) {
    const below = path === "" ? name : `${path}/${name}`;
    if (depthOf(below) > MAX_DEPTH || !(await fs.stat(join(root, below))).isDirectory()) continue;
    await checkInside(root, below, `folder "${below}"`);
    found.push(...await skillFolders(root, below));
  }
  return found;
}

async function readSkill(root: string, path: string): Promise<FinalizedMcpSkill> {
  const subject = `skill "${path}"`;
  const files = new Map<string, Uint8Array>();
  let size = 0;
  for (const file of await filesIn(join(root, path), "", subject)) {
    const at = join(root, path, file);
    size += (await fs.stat(at)).size;
    if (size > MAX_SKILL_SIZE || files.size >= MAX_SKILL_FILES) {
      throw new DefinitionError(
        subject,
        "its folder",
        `has more than ${MAX_SKILL_FILES} files or ${MAX_SKILL_SIZE} bytes, which clients refuse`,
        "remove files that assistants do not need",
      );
    }
    files.set(file, await fs.readFile(at));
  }
  const text = textOf(files.get(SKILL_FILE)!);
  if (text === undefined) {
    throw new DefinitionError(subject, SKILL_FILE, "is not UTF-8 text", "save it as UTF-8");
  }
  return checkedSkill({ path, frontmatter: await frontMatterOf(subject, text), files });
}

/** The paths of all files in a folder, in the order of their names. */
async function filesIn(folder: string, path: string, subject: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await visibleNames(join(folder, path))) {
    const below = path === "" ? name : `${path}/${name}`;
    await checkInside(folder, below, subject);
    const entry = await fs.stat(join(folder, below));
    if (entry.isFile()) found.push(below);
    else if (entry.isDirectory() && depthOf(below) < MAX_DEPTH) {
      found.push(...await filesIn(folder, below, subject));
    } else {
      throw new DefinitionError(
        subject,
        `"${below}"`,
        entry.isDirectory() ? `is more than ${MAX_DEPTH} folders deep` : "is not a file",
        "remove it from the folder",
      );
    }
  }
  return found;
}

/** Refuses a link that leads out of a folder (SKILLS-1). */
async function checkInside(folder: string, path: string, subject: string): Promise<void> {
  const target = await fs.realpath(join(folder, path)).catch(() => undefined);
  if (target?.startsWith(folder + sep)) return;
  throw new DefinitionError(
    subject,
    `the link "${path}"`,
    target === undefined ? "leads nowhere" : "leads out of the folder",
    "replace it with a copy of the file",
  );
}

/** The names in a folder, without those that begin with a dot (SKILLS-2). */
async function visibleNames(folder: string): Promise<string[]> {
  return (await fs.readdir(folder)).filter((name) => !name.startsWith(".")).sort();
}

function depthOf(path: string): number {
  return path.split("/").length;
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Parses the front matter of `SKILL.md`: YAML between two lines of three hyphens. */
async function frontMatterOf(subject: string, text: string): Promise<JsonObject> {
  const refused = (problem: string, wayOut: string) =>
    new DefinitionError(subject, "the front matter of SKILL.md", problem, wayOut);
  const [, yaml] = FRONT_MATTER.exec(text) ?? [];
  if (yaml === undefined) {
    throw refused("is missing", "begin the file with ---, name, description and ---");
  }
  // The YAML parser is large, and servers without skills do not need it.
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    // Refuse aliases, because they could expand a small file to gigabytes.
    value = parse(yaml, { maxAliasCount: 0, schema: "core", logLevel: "error" });
  } catch (error) {
    const [first = ""] = messageOf(error).split("\n");
    throw refused(`is not valid YAML: ${first}`, "fix that line");
  }
  if (!isObject(value)) throw refused("is not a map", "write one key and value on each line");
  return value;
}
