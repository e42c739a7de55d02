/** Runs the commands of every page, line by line, as a reader would type them. */
import assert from "node:assert/strict";
import { until } from "effection";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { commandsOf, listPages, unpackPages } from "../harness/pages.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { builtExecutable } from "../support/built.ts";
import { useExampleSite } from "../support/example-site.ts";
import { followCommands, type Way } from "../support/follow.ts";
import { useFolder } from "../support/folder.ts";
import { fromSource, useProgram } from "../support/program.ts";

const onPosix = it.when(process.platform !== "win32");

/**
 * In the pages, `parley` is the compiled program; on Deno, its source does the same. It is put
 * where compiling would put it.
 */
function makeProgram(folder: string): void {
  const start = currentRuntime() === "bun" ? builtExecutable() : fromSource();
  mkdirSync(join(folder, "dist"));
  const command = join(folder, "dist/parley");
  writeFileSync(command, `#!/bin/sh\nexec ${start.map((word) => `'${word}'`).join(" ")} "$@"\n`);
  chmodSync(command, 0o755);
}

function wayIn(folder: string): Way {
  return {
    cwd: folder,
    env: {
      PATH: `${join(folder, "dist")}${delimiter}${process.env.PATH}`,
      HOME: folder,
      XDG_CONFIG_HOME: undefined,
      PORT: "0",
      // Kept, so that nothing is downloaded again for another home.
      DENO_DIR: process.env.DENO_DIR ?? join(process.env.HOME ?? root, ".cache/deno"),
    },
    instead(line) {
      // Done already, or part of this run; `deno task docs` does it for real.
      if (/^npx -y bun run compile/.test(line)) return "true";
      if (/^npx -y deno task (?:check|test)/.test(line)) return "true";
      // Only the compiled program has everything that a bundle needs.
      if (/^parley bundle/.test(line) && currentRuntime() === "deno") return "true";
      // The same Deno without npx, which would download it first.
      if (!line.startsWith("npx -y deno task")) return undefined;
      return `${line.replace("npx -y deno", `'${useRuntime("deno").path}'`)}`;
    },
  };
}

describe("the unit file in docs/serving.md", () => {
  onPosix("starts a server, with a store, that logs as JSON", function* () {
    const folder = yield* useFolder();
    unpackPages(folder);
    const unit = readFileSync(join(folder, "parley.service"), "utf8");
    const command = /^ExecStart=\/usr\/local\/bin\/parley (.+)$/m.exec(unit)![1]!
      .replace("/srv/parley", folder)
      .replace("/var/lib/parley", folder);
    const program = yield* useProgram(command.split(" "), { env: { PORT: "0" } });
    yield* until(program.says(/"message":"serving","address":"http:\/\/127/));
    assert.ok(existsSync(join(folder, "calls.db.key")));
    program.signal("SIGTERM");
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  });
});

describe("the commands of", () => {
  for (const page of listPages()) {
    const lines = commandsOf(page);
    if (lines.length === 0) continue;
    onPosix(`${page} do what it says`, function* () {
      const folder = yield* useFolder();
      makeProgram(folder);
      unpackPages(folder);
      const followed: string[] = [];
      // Commands that need a clone run in the project itself.
      const inClone = (line: string) => line.startsWith("npx -y deno task start");
      const { way, requests } = yield* useExampleSite(lines, wayIn(folder));
      const told = (line: string) => followed.push(line);
      yield* followCommands(lines.filter(inClone), { ...way, cwd: root, told });
      yield* followCommands(lines.filter((line) => !inClone(line)), { ...way, told });
      assert.equal(followed.length, lines.filter((line) => !/^(?:cd|export) /.test(line)).length);
      if (page === "docs/access.md") {
        // Somebody really signed in and out.
        for (const path of ["GET /auth", "POST /token", "POST /token/revocation"]) {
          assert.ok(requests.includes(path), `${path} is not in ${requests.join(", ")}`);
        }
      }
      if (page === "README.md") {
        assert.ok(existsSync(join(folder, "my-tools/tools/greet.ts")));
        const files = readdirSync(folder, { recursive: true }).map(String);
        assert.ok(files.some((file) => file.endsWith("claude_desktop_config.json")));
      }
    }, { within: 120_000 });
  }
});
