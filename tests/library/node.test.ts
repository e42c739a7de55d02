import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { SCHEMA_FILE } from "../../scripts/config-schema.ts";
import { readText, root } from "../harness/files.ts";
import { describe, it } from "../suite.ts";
import { officialCases } from "../transport/stdio/client-cases.ts";
import { builtPackage, useNode } from "../support/built.ts";
import { useFolder } from "../support/folder.ts";
import { type Program, runProgram, type Start, useProgram } from "../support/program.ts";
import { noticesLeaving, servesBothEras, takesBodies } from "./mounted-cases.ts";

/** The program as npm installs it. */
function onNode(): Start {
  return [useNode(), join(builtPackage(), "main.js")];
}

/** A project with our package, and the app. */
function* useApp(): Operation<{ program: Program; address: string }> {
  const folder = yield* useFolder();
  mkdirSync(join(folder, "node_modules"));
  const packages = {
    "parley-mcp": builtPackage(),
    effection: join(root, "node_modules/effection"),
    zod: join(root, "node_modules/zod"),
  };
  for (const [name, path] of Object.entries(packages)) {
    symlinkSync(path, join(folder, "node_modules", name), "junction");
  }
  cpSync(join(root, "tests/library/node-app.mjs"), join(folder, "app.mjs"));
  cpSync(join(root, "tests/support/multi-round-tool.ts"), join(folder, "multi-round-tool.ts"));
  const program = yield* useProgram(["app.mjs"], { start: [useNode()], cwd: folder });
  const [, address] = yield* until(program.says(/(http:\S+) on Node v22|(http:\S+) on Node/));
  return { program, address: address! };
}

describe("the package on Node", () => {
  it("serves both eras through node:http", function* () {
    const { program, address } = yield* useApp();
    yield* until(servesBothEras(address));
    yield* until(takesBodies(address));
    if (process.platform === "win32") return;
    program.signal("SIGTERM");
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  }, { within: 60_000 });

  it("notices when a client leaves", function* () {
    const { program, address } = yield* useApp();
    yield* until(noticesLeaving(address, async () => {
      await program.says(/stubborn has cleaned up/);
    }));
  });

  it("needs only what a tool imports too, and states its Node version", () => {
    const manifest = JSON.parse(readFileSync(join(builtPackage(), "package.json"), "utf8"));
    assert.deepEqual(Object.keys(manifest.dependencies), ["effection", "zod"]);
    assert.deepEqual(Object.keys(manifest.optionalDependencies), ["@napi-rs/keyring"]);
    assert.equal(manifest.engines.node, ">=22.19");
  });

  it("contains the schema of the config file", () => {
    const schema = readFileSync(join(builtPackage(), SCHEMA_FILE), "utf8");
    assert.equal(schema, readText(SCHEMA_FILE));
    const { exports } = JSON.parse(readFileSync(join(builtPackage(), "package.json"), "utf8"));
    assert.equal(exports[`./${SCHEMA_FILE}`], `./${SCHEMA_FILE}`);
  });
});

describe("the program on Node", () => {
  officialCases(onNode);

  it("loads TypeScript from anywhere, with our packages", function* () {
    const folder = yield* useFolder();
    cpSync(join(root, "tests/transport/stdio/tools.ts"), join(folder, "tools.ts"));
    const call = ["call", "echo", '{"text":"hello"}', "tools.ts"];
    const { code, stdout, stderr } = yield* runProgram(call, { start: onNode(), cwd: folder });
    assert.deepEqual([code, stdout], [0, "hello\n"], stderr);
  });

  it("serves over HTTP, and exits with 0", function* () {
    const tools = ["tests/support/multi-round-tool.ts", "tests/transport/stdio/tools.ts"]
      .map((file) => join(root, file));
    const program = yield* useProgram(["serve", ...tools, "--port", "0"], { start: onNode() });
    const [address] = yield* until(program.says(/http:\S+\/mcp/));
    yield* until(servesBothEras(address));
    if (process.platform === "win32") return;
    program.signal("SIGTERM");
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  });
});
