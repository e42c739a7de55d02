import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import process from "node:process";
import { machineOf, outputFor } from "../../scripts/targets.ts";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

const ending = process.platform === "win32" ? ".exe" : "";
/** Every target that the head of the compile script names. */
const targets = readText("scripts/compile.ts").slice(0, 1_200)
  .match(/\bbun-[\w-]+|\b(?:x86_64|aarch64)-[\w-]+/g)!;

describe("outputFor()", () => {
  it("keeps dist/parley for this machine's program", () => {
    assert.equal(outputFor({}, "dist"), resolve(`dist/parley${ending}`));
    assert.ok(targets.length >= 11, `${targets}`);
    for (const target of targets) {
      assert.notEqual(outputFor({ target }, "dist"), outputFor({}, "dist"), target);
    }
  });

  it("gives each target its own name", () => {
    const names = targets.map((target) => outputFor({ target }, "dist"));
    assert.equal(new Set(names).size, targets.length, `${names}`);
    assert.equal(
      outputFor({ target: "bun-darwin-arm64" }, "dist"),
      resolve("dist/parley-darwin-arm64"),
    );
    assert.equal(
      outputFor({ target: "bun-windows-x64" }, "dist"),
      resolve("dist/parley-windows-x64.exe"),
    );
    assert.equal(
      outputFor({ target: "x86_64-pc-windows-msvc" }, "dist"),
      resolve("dist/parley-x86_64-pc-windows-msvc.exe"),
    );
  });

  it("uses a given name", () => {
    const out = join("elsewhere", "it");
    assert.equal(outputFor({ out, target: "bun-linux-x64" }, "dist"), resolve(out));
    assert.equal(outputFor({ out, target: "bun-windows-x64" }, "dist"), resolve(`${out}.exe`));
  });
});

describe("machineOf()", () => {
  it("knows the machine of every target, by each compiler's name for it", () => {
    for (const target of targets) assert.ok(machineOf(target), target);
    assert.deepEqual(machineOf("bun-linux-x64-baseline"), machineOf("x86_64-unknown-linux-gnu"));
    assert.deepEqual(machineOf("bun-darwin-arm64"), machineOf("aarch64-apple-darwin"));
    assert.equal(machineOf("amiga"), undefined);
  });
});
