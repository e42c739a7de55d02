import assert from "node:assert/strict";
import { listFiles, readText } from "./harness/files.ts";
import { readBunLock, readDenoLock } from "./harness/locks.ts";
import { importsOf } from "./harness/tokens.ts";
import { describe, it } from "./suite.ts";

interface Manifest {
  name: string;
  private?: boolean;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  devEngines: { runtime: { name: string; version: string; onFail: string }[] };
}
const manifest: Manifest = JSON.parse(readText("package.json"));
const config: { tasks: Record<string, string>; imports?: unknown } = JSON.parse(
  readText("deno.json"),
);
/** What is installed under each name; an older release of a package has another name. */
const direct = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
  .map(([name, version]) => {
    const [, real = name, exact = version] = /^npm:(.+)@([^@]+)$/.exec(version) ?? [];
    return { name, real, version: exact };
  });
const besides: Manifest[] = ["tests/peers", "tests/bluesky-net", "bench/peers"]
  .map((folder) => JSON.parse(readText(`${folder}/package.json`)));
const locks = [
  "deno.lock",
  "bun.lock",
  "tests/peers/bun.lock",
  "tests/bluesky-net/package-lock.json",
  "bench/peers/bun.lock",
];

describe("the tasks", () => {
  it("have the same names for Deno and for Bun", () => {
    const names = [
      "api",
      "bench",
      "build",
      "check",
      "compile",
      "dev",
      "docs",
      "exhaust",
      "parley",
      "screenshots",
      "skills",
      "soak",
      "start",
      "test",
      "test:live",
      "ui",
      "walks",
    ];
    assert.deepEqual(Object.keys(config.tasks).sort(), names);
    assert.deepEqual(Object.keys(manifest.scripts).sort(), names);
  });

  it("run the same program, each with its own runtime", () => {
    for (const [name, task] of Object.entries(config.tasks)) {
      const withoutDeno = task.replace(/^deno run -A /, "");
      const withoutBun = manifest.scripts[name]?.replace(/^bun /, "");
      assert.notEqual(withoutDeno, task, name);
      assert.equal(withoutDeno, withoutBun, name);
    }
  });
});

describe("the project's folder", () => {
  it("is private: only the built package is published", () => {
    assert.equal(manifest.private, true);
  });

  it("has a task that builds the package, and CONTRIBUTING names both", () => {
    const text = readText("CONTRIBUTING.md");
    const row = text.split("\n").find((line) => line.startsWith("| `npx -y deno task build`"));
    assert.ok(config.tasks["build"]);
    assert.ok(row?.includes(`\`${manifest.name}\``), row);
    assert.ok(row?.includes("`dist/npm`"), row);
    assert.ok(text.includes("`npm publish dist/npm`"));
  });
});

describe("the versions", () => {
  it("of Deno and Bun are stated, and do not bind users of the package", () => {
    const { runtime } = manifest.devEngines;
    assert.deepEqual(runtime.map(({ name }) => name).sort(), ["bun", "deno"]);
    for (const { version, onFail } of runtime) {
      assert.match(version, /^\d+\.\d+\.\d+$/);
      assert.equal(onFail, "ignore");
    }
  });

  it("of packages are exact, and stated in package.json only", () => {
    for (const { name, version } of direct) assert.match(version, /^\d+\.\d+\.\d+/, name);
    for (const version of besides.flatMap(({ dependencies }) => Object.values(dependencies))) {
      assert.match(version, /^\d+\.\d+\.\d+/);
    }
    assert.equal(config.imports, undefined);
    for (
      const file of ["src", "tools", "scripts", "tests", "bench"].flatMap((at) =>
        listFiles(at, ".ts")
      )
    ) {
      const stated = importsOf(readText(file)).filter((name) => /^(?:npm|jsr|https?):/.test(name));
      assert.deepEqual(stated, [], file);
    }
  });

  it("and contents of all packages are the same in both lock files", () => {
    const [deno, bun] = [readDenoLock(readText("deno.lock")), readBunLock(readText("bun.lock"))];
    assert.ok(deno.size >= direct.length);
    assert.deepEqual([...bun], [...deno]);
    for (const { real, version } of direct) assert.ok(deno.has(`${real}@${version}`), real);
  });

  it("are the installed ones", () => {
    for (const { name, version } of direct) {
      const installed = JSON.parse(readText(`node_modules/${name}/package.json`));
      assert.equal(installed.version, version, `${name}: remove node_modules and install again`);
    }
  });
});

describe("the lock files", () => {
  it("name no registry", () => {
    for (const lock of locks) assert.doesNotMatch(readText(lock), /:\/\//, lock);
  });
});

describe("readDenoLock() and readBunLock()", () => {
  it("agree on a package with peers, and see a difference", () => {
    const deno = (version: string) =>
      `{ "npm": { "@a/b@${version}_zod@4.0.0_@c+d@1.0.0": { "integrity": "sha512-x" } } }`;
    const bun = `{ "packages": { "@a/b": ["@a/b@1.2.3", "", { "bin": "b", }, "sha512-x"], }, }`;
    assert.deepEqual([...readDenoLock(deno("1.2.3"))], [["@a/b@1.2.3", "sha512-x"]]);
    assert.deepEqual([...readBunLock(bun)], [...readDenoLock(deno("1.2.3"))]);
    assert.notDeepEqual([...readBunLock(bun)], [...readDenoLock(deno("1.2.4"))]);
  });
});
