/**
 * Writes the skills of skills/ into src/shipped-skills.ts, so that a compiled program contains them.
 *
 *     deno task skills
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { formatted } from "./api-reference.ts";
import { SHIPPED_SKILLS, shippedSkillsText } from "./shipped-skills.ts";

installDependencies();
writeFileSync(join(root, SHIPPED_SKILLS), formatted(await shippedSkillsText(), "ts"));
console.log(`${SHIPPED_SKILLS} is up to date`);
