/** Generates `src/shipped-skills.ts` from the folder `skills/`. */
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";

/** The generated file. */
export const SHIPPED_SKILLS = "src/shipped-skills.ts";

/** The new text of the file, before formatting. */
export async function shippedSkillsText(): Promise<string> {
  const { readMcpSkills } = await import("../src/skills/folder.ts");
  const { textOf } = await import("../src/tool/mime-type.ts");
  const skills = await readMcpSkills(join(root, "skills"));
  const entries = skills.map(({ name, frontmatter, files }) => {
    const texts = files.map(({ path, bytes }) => [path, textOf(bytes)]);
    return `  ${JSON.stringify({ path: name, frontmatter, files: Object.fromEntries(texts) })},\n`;
  });
  return [
    "/** The skills of skills/. `deno task skills` generates them; a test checks that they are up to date. */\n",
    'import type { JsonObject } from "./model/content.ts";\n\n',
    "/** A skill, with the text of each file by its path. */\n",
    "export interface ShippedSkill {\n  readonly path: string;\n  readonly frontmatter: JsonObject;\n",
    "  readonly files: { readonly [path: string]: string };\n}\n\n",
    "export const SHIPPED_SKILLS: readonly ShippedSkill[] = [\n",
    ...entries,
    "];\n",
  ].join("");
}
