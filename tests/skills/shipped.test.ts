import assert from "node:assert/strict";
import { formatted } from "../../scripts/api-reference.ts";
import { SHIPPED_SKILLS, shippedSkillsText } from "../../scripts/shipped-skills.ts";
import { shipped } from "../../src/shipped.ts";
import { readMcpSkills } from "../../src/skills/folder.ts";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

describe("the shipped skills", () => {
  it("are those of skills/", async () => {
    const text = formatted(await shippedSkillsText(), "ts");
    assert.equal(readText(SHIPPED_SKILLS), text, "run `deno task skills`");
    const served = (await shipped()).filter(({ kind }) => kind === "skill");
    assert.deepEqual(served, await readMcpSkills("skills"));
    assert.deepEqual(served.map(({ name }) => name), ["write-parley-tools"]);
  });
});
