import assert from "node:assert/strict";
import type { Operation } from "effection";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { copyFiles } from "../../../src/cli/commands/bundle-files.ts";
import { Problem } from "../../../src/cli/problem.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";

const onPosix = it.when(process.platform !== "win32");

interface Project {
  readonly folder: string;
  /** Copies the folder `tools`. Returns which files are in the copy and which were left out. */
  copy(): { copied: string[]; leftOut: string[] };
}

function* useProject(files: readonly string[]): Operation<Project> {
  const folder = yield* useFolder();
  for (const file of ["package.json", "tools/tool.ts", ...files]) {
    const path = join(folder, "project", file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file);
  }
  const tools = join(folder, "project/tools");
  return {
    folder,
    copy() {
      const to = join(folder, "copy");
      const leftOut = copyFiles(tools, to).map((path) => relative(tools, path));
      const all = readdirSync(folder).includes("copy")
        ? readdirSync(to, { recursive: true, withFileTypes: true })
        : [];
      const copied = all.filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => relative(to, join(parentPath, name)));
      return { copied: copied.sort(), leftOut: leftOut.sort() };
    },
  };
}

describe("copyFiles()", () => {
  it("copies what tools read, and leaves private files out", function* () {
    const wanted = [
      "data/db.json",
      "data/keys.txt",
      "env.txt",
      "monkey",
      "texts/a.md",
      "texts/b.ts",
    ];
    const unwanted = [
      ...["store.db", "store.db-wal", "store.db-shm", "store.db-journal", "data/OLD.DB"],
      ...["cache.sqlite", "cache.sqlite3", "state-wal", "state-shm"],
      ...["store.db.key", "tls.key", "tls.pem", "data/deep/cert.p12", "a.pfx", "id_ed25519"],
      ...[".env", ".env.local", "production.env", ".npmrc", "texts/.secret"],
      ...["server.log", "former.mcpb", "notes~"],
    ];
    const packages = ["node_modules/x/index.js", "data/node_modules/y/index.js", ".git/config"];
    const files = [...wanted, ...unwanted, ...packages].map((file) => `tools/${file}`);
    const project = yield* useProject(files);
    const { copied, leftOut } = project.copy();
    assert.deepEqual(copied, wanted);
    assert.deepEqual(leftOut, unwanted.sort());
  });

  it("recognises databases and private keys by their content", function* () {
    const project = yield* useProject(["tools/public"]);
    const tools = join(project.folder, "project/tools");
    const db = new DatabaseSync(join(tools, "state"));
    db.exec("CREATE TABLE t (x)");
    db.close();
    writeFileSync(join(tools, "a"), "-----BEGIN PRIVATE KEY-----\n");
    writeFileSync(join(tools, "b"), "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    assert.deepEqual(project.copy(), { copied: ["public"], leftOut: ["a", "b", "state"] });
  });

  onPosix("follows links within the project", function* () {
    const project = yield* useProject(["data/x.txt", "data/y.key", "tools/z.txt", ".git/config"]);
    const tools = join(project.folder, "project/tools");
    symlinkSync("../data", join(tools, "data"));
    symlinkSync("z.txt", join(tools, "again.txt"));
    symlinkSync("../data/y.key", join(tools, "harmless.txt"));
    symlinkSync("../.git", join(tools, "git"));
    symlinkSync("../.git/config", join(tools, "config.txt"));
    symlinkSync("nowhere", join(tools, "broken"));
    assert.deepEqual(project.copy(), {
      copied: ["again.txt", "data/x.txt", "z.txt"],
      leftOut: ["config.txt", "data/y.key", "harmless.txt"],
    });
    assert.equal(readFileSync(join(project.folder, "copy/data/x.txt"), "utf8"), "data/x.txt");
  });

  onPosix("refuses links that leave the project", function* () {
    for (const target of ["../../outside", "../../outside/secret.txt", "/etc/hostname", "../.."]) {
      const project = yield* useProject(["../outside/secret.txt"]);
      symlinkSync(target, join(project.folder, "project/tools/out"));
      assert.throws(project.copy, Problem, target);
    }
  });

  onPosix("refuses links to a folder that contains them", function* () {
    const loops = [[["tools/self", "."]], [["tools/deep/up", ".."]], [
      ["tools/one/two", "../two"],
      ["tools/two/one", "../one"],
    ]] as const;
    for (const links of loops) {
      const project = yield* useProject(["tools/deep/x.txt", "tools/one/x.txt", "tools/two/x.txt"]);
      for (const [path, target] of links) {
        symlinkSync(target, join(project.folder, "project", path));
      }
      assert.throws(project.copy, Problem, JSON.stringify(links));
    }
  });
});
