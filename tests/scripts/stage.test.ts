import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stage } from "../../scripts/stage.ts";
import { thirdParties } from "../../scripts/third-party.ts";
import { readText } from "../harness/files.ts";
import { useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { runProgram } from "../support/program.ts";

/** Different on each machine, and found by the program at run time. */
const NATIVE = /^@napi-rs\/keyring-/;

/** All packages in a node_modules that Deno made, each as `name@version`. */
function packagesIn(folder: string): string[] {
  const store = join(folder, "node_modules/.deno");
  // Deno also leaves an empty folder there for the project itself.
  const names = readdirSync(store).filter((name) =>
    name.lastIndexOf("@") > 0 && existsSync(join(store, name, "node_modules"))
  );
  return [...new Set(names.map((name) => name.replace(/_\d+$/, "").replace("+", "/")))].sort();
}

describe("stage()", () => {
  it(
    "has the packages that the program needs, and no other, for the compiler to embed",
    function* () {
      const folder = yield* useFolder();
      const extra = join(folder, "extra.bin");
      writeFileSync(extra, "extra");
      const staged = join(folder, "staged");
      stage(staged, { files: { "dist/extra.bin": extra } });

      const { dependencies, devDependencies } = JSON.parse(readText("package.json"));
      const embedded = packagesIn(staged);
      const needed = thirdParties([]).map(({ name, version }) => `${name}@${version}`);
      const withoutNative = (names: string[]) =>
        [...new Set(names)].filter((name) => !NATIVE.test(name)).sort();
      assert.deepEqual(withoutNative(embedded), withoutNative(needed));
      assert.ok(embedded.some((name) => NATIVE.test(name)), `${embedded}`);
      for (const name of Object.keys(dependencies)) {
        assert.ok(existsSync(join(staged, "node_modules", name)), name);
      }
      for (const name of Object.keys(devDependencies)) {
        assert.ok(!existsSync(join(staged, "node_modules", name)), name);
      }
      assert.deepEqual(readdirSync(staged).sort(), [
        "deno.json",
        "deno.lock",
        "dist",
        "node_modules",
        "package.json",
        "src",
        "tools",
      ]);
      assert.equal(readFileSync(join(staged, "dist/extra.bin"), "utf8"), "extra");
      assert.deepEqual(JSON.parse(readFileSync(join(staged, "deno.json"), "utf8")).unstable, [
        "no-legacy-abort",
      ]);

      const main = join(staged, "src/main.ts");
      const { code, stdout, stderr } = yield* runProgram(["tools", "--json"], {
        start: [useRuntime("deno").path, "run", "-A", "--no-check", "--cached-only", main],
        cwd: staged,
      });
      assert.equal(code, 0, stderr);
      assert.ok(JSON.parse(stdout).length > 4);
    },
    { within: 60_000 },
  );

  it("has the native addon of the machine that the program is for", function* () {
    const folder = yield* useFolder();
    stage(folder, { machine: { os: "darwin", cpu: "arm64" } });
    const native = packagesIn(folder).filter((name) => NATIVE.test(name));
    assert.deepEqual(native.map((name) => name.replace(/@[^@]+$/, "")), [
      "@napi-rs/keyring-darwin-arm64",
    ]);
  }, { within: 60_000 });
});
