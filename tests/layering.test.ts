import assert from "node:assert/strict";
import { listFiles, readText } from "./harness/files.ts";
import {
  globalComplaints,
  importComplaints,
  medianLines,
  ranks,
  sizeComplaints,
  type Source,
  starComplaints,
} from "./harness/layers.ts";
import { describe, it } from "./suite.ts";

const load = (path: string): Source => ({ path, text: readText(path) });
const src = listFiles("src", ".ts").map(load);
const tools = listFiles("tools", ".ts").map(load);
const packageName: string = JSON.parse(readText("package.json")).name;

describe("the source", () => {
  it("imports one way only, types included", () => {
    assert.ok(src.length > 0, "no source was found");
    assert.deepEqual(importComplaints(src, packageName), []);
  });

  it("names Deno and Bun only where a host or a store meets them", () => {
    assert.deepEqual(globalComplaints(src), []);
  });

  it("exports nothing by star", () => {
    assert.deepEqual(starComplaints(src), []);
  });

  it("has no file over 600 lines", () => {
    assert.deepEqual(sizeComplaints([...src, ...tools], 600), []);
  });

  it("has half of its files under 120 lines", () => {
    assert.ok(medianLines(src) < 120, `the median is ${medianLines(src)} lines`);
  });
});

/** What one file would be told. */
function complaints(path: string, text: string): string[] {
  return importComplaints([{ path, text }], packageName);
}

describe("importComplaints()", () => {
  it("finds an import from every layer above, in every form", () => {
    for (const [depth, here] of ranks.entries()) {
      for (const above of ranks.slice(0, depth)) {
        for (
          const text of [
            `import { a } from "../${above}/a.ts";`,
            `import type { A } from "../${above}/a.ts";`,
            `import {\n  type A,\n  b, // from "./x.ts"\n} from '../${above}/a.ts';`,
            `export { a } from "../${above}/a.ts";`,
            `export type { A } from "../${above}/a.ts";`,
            `import "../${above}/a.ts";`,
            `const a = await import("../${above}/a.ts");`,
            `type A = import("../${above}/a.ts").A;`,
            `const quote = /["'\`]/; const t = \`\${{ a: await import("../${above}/a.ts") }}\`;`,
          ]
        ) {
          assert.deepEqual(
            complaints(`src/${here}/here.ts`, text),
            [`src/${here}/here.ts -> src/${above}/a.ts: upward`],
            text,
          );
        }
      }
    }
  });

  it("allows the own layer, those below, and the words", () => {
    for (const [depth, here] of ranks.entries()) {
      for (const below of ranks.slice(depth)) {
        assert.deepEqual(
          complaints(
            `src/${here}/deeper/here.ts`,
            `import "../../${below}/a.ts"; import "../../events.ts"; import "zod"; import "node:fs";`,
          ),
          [],
        );
      }
    }
  });

  it("reads no import in a comment or a string", () => {
    const text = [
      `// import "../host/a.ts"`,
      `/* import "../host/a.ts" */`,
      `const text = 'import "../host/a.ts"' + \`from "../host/a.ts"\`;`,
    ].join("\n");
    assert.deepEqual(complaints("src/store/here.ts", text), []);
  });

  it("keeps the words to each other", () => {
    assert.deepEqual(
      complaints("src/errors.ts", `import "./events.ts"; import "./content.ts";`),
      [],
    );
    for (const other of ["./store/types.ts", "zod", "node:fs"]) {
      assert.equal(complaints("src/errors.ts", `import "${other}";`).length, 1, other);
    }
  });

  it("keeps the surface and the executable out of the layers", () => {
    for (const other of ["../mod.ts", "../main.ts", packageName]) {
      assert.equal(complaints("src/host/here.ts", `import "${other}";`).length, 1, other);
    }
    assert.deepEqual(complaints("src/main.ts", `import "./mod.ts"; import "../tools/a.ts";`), []);
    assert.equal(complaints("src/mod.ts", `import "./main.ts";`).length, 1);
  });

  it("lets the test kit see the session and below, and nobody else see the kit", () => {
    assert.deepEqual(complaints("src/testing/here.ts", `import "../session/types.ts";`), []);
    assert.deepEqual(complaints("src/mod.ts", `import "./testing/kit.ts";`), []);
    assert.equal(complaints("src/testing/here.ts", `import "../handler/handler.ts";`).length, 1);
    assert.equal(complaints("src/testing/here.ts", `import "../protocol/sse.ts";`).length, 1);
    assert.equal(complaints("src/host/here.ts", `import "../testing/kit.ts";`).length, 1);
  });

  it("keeps Effection out of protocol/", () => {
    const text = `import type { Operation } from "effection";`;
    assert.equal(complaints("src/protocol/here.ts", text).length, 1);
    assert.deepEqual(complaints("src/session/here.ts", text), []);
  });

  it("knows a place for every file, and lets none reach out of src/", () => {
    assert.equal(complaints("src/utils.ts", "").length, 1);
    assert.equal(complaints("src/helpers/a.ts", "").length, 1);
    assert.equal(complaints("src/store/a.ts", `import "../../tests/suite.ts";`).length, 1);
  });

  it("refuses what it cannot read", () => {
    assert.throws(() => complaints("src/store/a.ts", "const a = `never closed"));
    assert.throws(() => complaints("src/store/a.ts", `const a = "never closed`));
  });
});

describe("the other rules", () => {
  it("globalComplaints() finds each way to touch a runtime", () => {
    for (
      const text of [
        "Deno.serve();",
        "const { serve } = Bun;",
        "globalThis.Deno.exit();",
        'globalThis["Bun"];',
        'if ("Deno" in globalThis) go();',
        "const text = `on ${Deno.version.deno}`;",
      ]
    ) {
      assert.equal(globalComplaints([{ path: "src/tool/a.ts", text }]).length, 1, text);
      assert.deepEqual(globalComplaints([{ path: "src/host/a.ts", text }]), []);
      assert.deepEqual(globalComplaints([{ path: "src/store/a.ts", text }]), []);
      assert.deepEqual(globalComplaints([{ path: "src/main.ts", text }]), []);
    }
    for (const text of ["// Deno.serve", '"Deno.serve"', "names.Deno", "`Bun.serve`"]) {
      assert.deepEqual(globalComplaints([{ path: "src/tool/a.ts", text }]), [], text);
    }
  });

  it("starComplaints() finds an export by star and no other star", () => {
    const complaintsOf = (text: string) => starComplaints([{ path: "src/mod.ts", text }]);
    assert.equal(complaintsOf(`export * from "./a.ts";`).length, 1);
    assert.equal(complaintsOf(`export * as a from "./a.ts";`).length, 1);
    assert.deepEqual(complaintsOf("export function* go() { yield* stop(); }"), []);
  });

  it("sizeComplaints() and medianLines() count lines", () => {
    const file = (lines: number) => ({ path: `src/${lines}.ts`, text: "x\n".repeat(lines) });
    assert.deepEqual(sizeComplaints([file(400)], 400), []);
    assert.equal(sizeComplaints([file(401), file(3)], 400).length, 1);
    assert.equal(medianLines([file(1), file(500), file(7)]), 7);
    assert.equal(medianLines([file(1), file(500), file(7), file(9)]), 8);
  });
});
