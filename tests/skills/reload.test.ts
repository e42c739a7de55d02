// deno-lint-ignore-file no-explicit-any
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, spawn, until, withResolvers } from "effection";
import { createParley } from "parley-mcp";
import { loadSkills, reloadSkills } from "../../src/cli/commands/skills.ts";
import { OperatorLog } from "../../src/cli/log.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { TestClient } from "../support/legacy/client.ts";

const text = (name: string, more = "") =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${more}\n`;

describe("a folder of skills", () => {
  it("is read again when it changes, and keeps serving what it had if a skill is broken", () =>
    run(function* () {
      const folder = yield* useFolder();
      const at = (path: string) => join(folder, "skills", path);
      mkdirSync(at("bake"), { recursive: true });
      mkdirSync(join(folder, "tools"));
      writeFileSync(at("bake/SKILL.md"), text("bake"));
      const loaded = (yield* until(loadSkills([join(folder, "tools")], {})))!;
      assert.deepEqual(loaded.skills.map(({ name }) => name), ["bake"]);
      const parley = createParley({ serve: loaded.skills });
      const lines: string[] = [];
      let wake = withResolvers<void>();
      const log = new OperatorLog({
        level: "info",
        format: "text",
        write(line) {
          lines.push(line);
          wake.resolve();
        },
      });
      /** Waits for a log line that fits. */
      const logged = function* (pattern: RegExp) {
        while (!lines.some((line) => pattern.test(line))) {
          yield* wake.operation;
          wake = withResolvers<void>();
        }
        lines.length = 0;
      };
      try {
        const client = yield* until(TestClient.connect(parley.fetch, {}));
        const stream = yield* until(client.listen());
        yield* until(client.request("resources/subscribe", { uri: "skill://bake/SKILL.md" }));
        const names = function* () {
          const { result } = yield* until(client.request("skills/list", {}));
          return (result as any).skills.map(({ frontmatter }: any) => frontmatter.name);
        };
        const watching = yield* spawn(() => reloadSkills(parley, loaded, log));

        mkdirSync(at("knead"));
        writeFileSync(at("knead/SKILL.md"), text("knead"));
        yield* logged(/skills changed: knead/);
        yield* until(stream.expect("notifications/resources/list_changed"));
        assert.deepEqual(yield* names(), ["bake", "knead"]);

        writeFileSync(at("bake/SKILL.md"), "no front matter");
        yield* logged(/cannot be loaded; serving them as they were.*front matter/);
        assert.deepEqual(yield* names(), ["bake", "knead"]);

        writeFileSync(at("bake/SKILL.md"), text("bake", "More."));
        yield* logged(/skills changed: bake/);
        // The skill was removed and added.
        yield* until(stream.expect("notifications/resources/list_changed"));
        yield* until(stream.expect("notifications/resources/list_changed"));
        yield* until(stream.expect("notifications/resources/updated"));

        rmSync(at("knead"), { recursive: true });
        yield* logged(/skills changed: knead/);
        assert.deepEqual(yield* names(), ["bake"]);
        yield* watching.halt();
      } finally {
        yield* until(parley.close());
      }
    }));

  it("is the folder skills beside tools, or the one that is named", () =>
    run(function* () {
      const folder = yield* useFolder();
      mkdirSync(join(folder, "tools"));
      mkdirSync(join(folder, "other"));
      assert.equal(yield* until(loadSkills([join(folder, "tools")], {})), undefined);
      mkdirSync(join(folder, "skills"));
      const load = (module: string, flags = {}) => loadSkills([join(folder, module)], flags);
      assert.equal((yield* until(load("tools")))?.folder, join(folder, "skills"));
      assert.equal(yield* until(load("other")), undefined);
      const named = { skills: join(folder, "other") };
      assert.equal((yield* until(load("tools", named)))?.folder, named.skills);
      yield* until(assert.rejects(load("tools", { skills: join(folder, "none") }), {
        message: `Cannot load skills from "${
          join(folder, "none")
        }": there is no such folder; check the path`,
      }));
      mkdirSync(join(folder, "skills/a"));
      writeFileSync(join(folder, "skills/a/SKILL.md"), "x");
      yield* until(
        assert.rejects(load("tools"), /Cannot load skills from .+: Cannot define skill "a"/),
      );
    }));
});
