import assert from "node:assert/strict";
import {
  functionsOf,
  takeWalks,
  type Walk,
  type WalkName,
  walksTable,
} from "../../bench/kit/walks.ts";
import { describe, it } from "../suite.ts";

describe("takeWalks()", () => {
  const walks = takeWalks();
  const filesOf = (name: string) => walks.find((walk) => walk.name === name)!.files.length;

  it("sees the tool's generator run in every walk, even if it is only resumed", () => {
    assert.deepEqual(walks.map(({ name, tool }) => [name, ...tool]), [
      ["legacy call", "add"],
      ["modern question", "pick"],
      ["modern retry", "pick"],
      ["revived session", "book"],
      ["stdio call", "add"],
    ]);
  });

  it("counts more files for a revived session than for a plain call", () => {
    for (const plain of ["legacy call", "stdio call"]) {
      assert.ok(filesOf(plain) > 0, plain);
      assert.ok(filesOf(plain) < filesOf("modern question"), plain);
      assert.ok(filesOf(plain) < filesOf("revived session"), plain);
    }
  });

  it("counts no more files and functions than the limits allow", () => {
    const limits: { readonly [walk in WalkName]: { files: number; functions: number } } = {
      "legacy call": { files: 37, functions: 122 },
      "modern question": { files: 47, functions: 205 },
      "modern retry": { files: 48, functions: 172 },
      "revived session": { files: 66, functions: 382 },
      "stdio call": { files: 33, functions: 126 },
    };
    for (const walk of walks) {
      const { files, functions } = limits[walk.name];
      assert.ok(walk.files.length <= files, `${walk.name}: ${walk.files.length} files`);
      assert.ok(functionsOf(walk) <= functions, `${walk.name}: ${functionsOf(walk)} functions`);
    }
  });

  it("counts nothing that ran before the message was sent", () => {
    const names = walks.flatMap(({ files }) => files.flatMap(({ functions }) => functions));
    assert.ok(names.length > 0);
    assert.ok(!names.includes("createParley"));
    for (const { files } of walks) {
      assert.ok(
        files.every(({ file, functions }) =>
          /^src\/.+\.ts$/.test(file) && functions[0] !== undefined
        ),
      );
    }
  });
});

describe("walksTable()", () => {
  const walk: Walk = {
    name: "stdio call",
    tool: ["add"],
    files: [
      { file: "src/a.ts", functions: ["one", ""] },
      { file: "src/b.ts", functions: ["three"] },
    ],
  };

  it("prints two figures for each walk", () => {
    assert.equal(functionsOf(walk), 3);
    assert.equal(walksTable([walk]).split("\n")[1], "stdio call          2          3");
  });

  it("lists files and functions on request", () => {
    assert.deepEqual(walksTable([walk], true).split("\n").slice(2), [
      "  src/a.ts: one, (anonymous)",
      "  src/b.ts: three",
    ]);
  });
});
