import assert from "node:assert/strict";
import { createMcpSkill } from "parley-mcp";
import { parse } from "yaml";
import { describe, it } from "../suite.ts";

const skill = createMcpSkill("bake").description("How to bake.");

describe("createMcpSkill()", () => {
  it("writes front matter that YAML reads back, whatever the texts contain", () => {
    const description = "Quotes \" and ' and: colons\n--- and # signs, – and 🎂";
    const { files, frontmatter } = createMcpSkill("bake").description(description)
      .frontmatter({ compatibility: "yes", metadata: { a: "true", b: "1" } })
      .instructions("Text");
    const text = new TextDecoder().decode(files[0]!.bytes);
    const [, yaml] = /^---\n([^]*?)\n---\n/.exec(text)!;
    assert.deepEqual(parse(yaml!), frontmatter);
    assert.equal(frontmatter.description, description);
  });

  it("refuses names, paths and texts that clients would refuse", () => {
    const name = "use 1 to 64 lowercase letters, digits and single hyphens";
    for (const bad of ["", "Bake", "a b", "-a", "a-", "a--b", "x".repeat(65), "../a", "a/b/"]) {
      assert.throws(
        () => createMcpSkill(bad).description("x").instructions("x"),
        (error: Error) => error.message.endsWith(name),
        bad,
      );
    }
    for (const path of ["", "/a", "a//b", "../a", "a/../b", "a/.", "a\\b", "a\0b"]) {
      assert.throws(() => skill.file(path, "x").instructions("x"), /is not a path below/, path);
    }
    assert.throws(() => skill.file("a", "x").file("a", "y"), /the file "a" exists twice/);
    assert.throws(() => skill.file("SKILL.md", "x"), /the file "SKILL.md" exists twice/);
    assert.throws(() => createMcpSkill("a").instructions("x"), /"description" .+ is missing/);
    assert.throws(() => skill.scopes("a b").instructions("x"), /which is no scope/);
  });
});
