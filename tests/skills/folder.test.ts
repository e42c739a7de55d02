import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DefinitionError, readMcpSkills } from "parley-mcp";
import { run, until } from "effection";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";

const MAIN = "---\nname: bake\ndescription: How to bake.\n---\n\nPreheat the oven.\n";

type Files = { readonly [path: string]: string | Uint8Array };

/** Writes files into a new folder, and reads it. */
function reading(files: Files, prepare: (folder: string) => void = () => {}) {
  return run(function* () {
    const folder = yield* useFolder();
    const root = join(folder, "skills");
    mkdirSync(root);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    prepare(folder);
    return yield* until(readMcpSkills(root));
  });
}

async function refused(files: Files, prepare?: (folder: string) => void): Promise<string> {
  let message = "";
  await assert.rejects(reading(files, prepare), (error: unknown) => {
    assert.ok(error instanceof DefinitionError, String(error));
    message = error.message;
    return true;
  });
  return message;
}

describe("readMcpSkills()", () => {
  it("reads every folder with a SKILL.md, with its files in order, and groups of skills", async () => {
    const skills = await reading({
      "bake/SKILL.md": MAIN,
      "bake/scripts/b.py": "print(1)",
      "bake/a.txt": "a",
      "bake/.env": "SECRET=1",
      "bake/.git/config": "x",
      "group/more/knead/SKILL.md": MAIN.replace("bake", "knead"),
      "notes.txt": "not a skill",
    });
    assert.deepEqual(skills.map(({ uri }) => uri), [
      "skill://bake/SKILL.md",
      "skill://group/more/knead/SKILL.md",
    ]);
    assert.deepEqual(skills[0]!.files.map(({ path, mimeType }) => [path, mimeType]), [
      ["SKILL.md", "text/markdown"],
      ["a.txt", "text/plain"],
      ["scripts/b.py", "text/x-python"],
    ]);
  });

  it("understands all of YAML in the front matter, and the line ends of Windows", async () => {
    const text = [
      "\uFEFF---",
      "name: bake",
      "description: >-",
      "  How to bake:",
      "  bread and cakes.",
      "metadata:",
      '  version: "1.0"',
      "  tags: 'a, b'",
      "allowed-tools: Bash(oven:*) Read",
      "---",
      "Text with --- in it.",
    ].join("\r\n");
    const [skill] = await reading({ "bake/SKILL.md": text });
    assert.deepEqual(skill!.frontmatter, {
      name: "bake",
      description: "How to bake: bread and cakes.",
      metadata: { version: "1.0", tags: "a, b" },
      "allowed-tools": "Bash(oven:*) Read",
    });
  });

  it("encodes file names in URIs", async () => {
    const [skill] = await reading({ "bake/SKILL.md": MAIN, "bake/a {b}?#%.md": "x" });
    assert.equal(skill!.files[1]!.uri, "skill://bake/a%20%7Bb%7D%3F%23%25.md");
  });

  it("follows links inside the skill, and refuses links that leave it or lead nowhere", async () => {
    const [skill] = await reading({ "bake/SKILL.md": MAIN, "bake/a.md": "a" }, (folder) => {
      symlinkSync("a.md", join(folder, "skills/bake/b.md"));
    });
    assert.deepEqual(skill!.files.map(({ path }) => path), ["SKILL.md", "a.md", "b.md"]);
    for (const target of ["/etc/passwd", "../../outside.md", "../../skills2"]) {
      const message = await refused({ "bake/SKILL.md": MAIN }, (folder) => {
        writeFileSync(join(folder, "outside.md"), "x");
        mkdirSync(join(folder, "skills2"));
        symlinkSync(target, join(folder, "skills/bake/link"));
      });
      assert.equal(
        message,
        'Cannot define skill "bake": the link "link" leads out of the folder; replace it with a copy of the file',
      );
    }
    const dangling = await refused({ "bake/SKILL.md": MAIN }, (folder) => {
      symlinkSync("nothing", join(folder, "skills/bake/link"));
    });
    assert.match(dangling, /the link "link" leads nowhere/);
    const loop = await refused({ "bake/SKILL.md": MAIN, "bake/a/b": "x" }, (folder) => {
      symlinkSync("..", join(folder, "skills/bake/a/loop"));
    });
    assert.match(loop, /leads out of the folder|is more than 16 folders deep/);
    const group = await refused({ "bake/SKILL.md": MAIN }, (folder) => {
      mkdirSync(join(folder, "elsewhere"));
      writeFileSync(join(folder, "elsewhere/SKILL.md"), MAIN);
      symlinkSync("../elsewhere", join(folder, "skills/elsewhere"));
    });
    assert.match(group, /the link "elsewhere" leads out of the folder/);
  });

  it("refuses bad front matter, and says what to fix", async () => {
    const front = (lines: string) => ({ "bake/SKILL.md": `---\n${lines}\n---\n` });
    const long = "x".repeat(1025);
    for (
      const [files, expected] of [
        [{ "bake/SKILL.md": "# Bake" }, /front matter of SKILL.md is missing; begin the file/],
        [front("name: [bake"), /front matter of SKILL.md is not valid YAML: .+; fix that line/],
        [front("- a"), /front matter of SKILL.md is not a map/],
        [front("name: bake"), /"description" in its front matter is missing/],
        [front("description: x"), /"name" in its front matter is missing/],
        [front("name: 5\ndescription: x"), /"name" in its front matter is missing/],
        [front(`name: bake\ndescription: ${long}`), /longer than 1024 characters/],
        [
          front("name: cook\ndescription: x"),
          /its name "cook" differs from the name of its folder/,
        ],
        [front("name: bake\ndescription: x\nmetadata: a"), /"metadata" in its front matter is not/],
        [front("name: bake\ndescription: x\nmetadata:\n  a: 1"), /"metadata.a" .+ is not text/],
        [
          front("name: bake\ndescription: x\nmetadata:\n  io.modelcontextprotocol/a: b"),
          /has a reserved name/,
        ],
        [
          front("name: bake\ndescription: x\nlicense: 5"),
          /"license" in its front matter is not text/,
        ],
        [front("a: &x [1]\nname: *x\ndescription: y"), /is not valid YAML/],
        [{ "bake/SKILL.md": new Uint8Array([0xff, 0xfe]) }, /SKILL.md is not UTF-8 text/],
        [{ "Bake_it/SKILL.md": MAIN }, /the name "Bake_it" is not valid; use 1 to 64 lowercase/],
        [{ "a--b/SKILL.md": MAIN }, /the name "a--b" is not valid/],
      ] as const
    ) {
      assert.match(await refused(files), expected);
    }
  });

  it("refuses a skill with too many files or bytes, without reading them all", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 512 }, (_, index) => [`bake/${index}.txt`, ""]),
    );
    assert.match(await refused({ "bake/SKILL.md": MAIN, ...many }), /has more than 512 files/);
    const large = { "bake/SKILL.md": MAIN, "bake/large": new Uint8Array(16 * 1024 * 1024) };
    assert.match(await refused(large), /or 16777216 bytes, which clients refuse/);
  });
});
