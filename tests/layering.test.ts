import assert from "node:assert/strict";
import { listFiles, readText } from "./harness/files.ts";
import {
  cycleComplaints,
  globalComplaints,
  house,
  houseTable,
  importComplaints,
  invariantComplaints,
  medianLines,
  sizeComplaints,
  sliverComplaints,
  type Source,
  starComplaints,
} from "./harness/layers.ts";
import { describe, it } from "./suite.ts";

const load = (path: string): Source => ({ path, text: readText(path) });
const src = listFiles("src", ".ts").map(load);
/** The imports alone, on their lines: the text between tags is not TypeScript. */
const jsx = listFiles("src", ".tsx").map(load).map(({ path, text }) => ({
  path,
  text: text.split(/(^import [^;]*? from "[^"]*";$)/m)
    .map((part, index) => index % 2 === 1 ? part : part.replace(/[^\n]/g, "")).join(""),
}));
const tools = listFiles("tools", ".ts").map(load);
const packageName: string = JSON.parse(readText("package.json")).name;

/** Files that are small on purpose, and why. */
const BORDERS: { readonly [path: string]: string } = {
  "src/ui/console/built.ts": "generated text, beside the code that it is made from",
  "src/shipped.ts": "the only file that imports tools/",
  "src/session/phase.ts": "the phases, which have one owner",
  "src/session/session-id.ts": "random ids, which know nothing of sessions",
  "src/ask/roots.ts": "a kind of question of its own, beside elicit and sample",
  "src/platform/peer.ts": "what the runtimes say of a connection, which only platform/ may know",
  "tools/bluesky.ts": "the entry of a folder of tools",
  "tools/bluesky/profile.ts": "a definition whose body is loaded on the first call",
  "tools/bluesky/run-profile.ts": "a body that is loaded on the first call",
};

describe("the source", () => {
  it("imports only what the table of folders allows, types included", () => {
    assert.ok(src.length > 0, "no source was found");
    assert.deepEqual(importComplaints([...src, ...jsx], packageName), []);
  });

  it("has a table of folders without cycles, and the same one in docs/architecture.md", () => {
    assert.deepEqual(cycleComplaints(), []);
    const rows = readText("docs/architecture.md").split("\n")
      .map((line) => line.replace(/\s*\|\s*/g, " | ").trim())
      .filter((line) => /^\| `[a-z]+\/` \|/.test(line));
    assert.deepEqual(rows, houseTable());
  });

  it("names Deno and Bun only in platform/, store/ and the executable", () => {
    assert.deepEqual(globalComplaints(src), []);
  });

  it("exports nothing by star", () => {
    assert.deepEqual(starComplaints(src), []);
  });

  it("has no file over 600 lines, and reports those over 400", () => {
    const all = [...src, ...jsx, ...tools];
    for (const complaint of sizeComplaints(all, 400)) console.warn(complaint);
    assert.deepEqual(sizeComplaints(all, 600), []);
  });

  it("has no slivers", () => {
    assert.deepEqual(sliverComplaints([...src, ...jsx, ...tools], packageName, BORDERS), []);
  });

  it("has a label of its own for each invariant, and cites it", () => {
    assert.deepEqual(invariantComplaints([...src, ...tools]), []);
  });

  it("has half of its files under 150 lines", () => {
    assert.ok(medianLines(src) < 150, `the median is ${medianLines(src)} lines`);
  });
});

/** The complaints about one file. */
function complaints(path: string, text: string): string[] {
  return importComplaints([{ path, text }], packageName);
}

describe("importComplaints()", () => {
  it("finds every import that the table does not allow, in every form", () => {
    for (const [here, { imports }] of Object.entries(house)) {
      for (const there of Object.keys(house)) {
        if (here === there || imports.includes(there)) continue;
        for (
          const text of [
            `import { a } from "../${there}/a.ts";`,
            `import type { A } from "../${there}/a.ts";`,
            `import {\n  type A,\n  b, // from "./x.ts"\n} from '../${there}/a.ts';`,
            `export { a } from "../${there}/a.ts";`,
            `export type { A } from "../${there}/a.ts";`,
            `import "../${there}/a.ts";`,
            `const a = await import("../${there}/a.ts");`,
            `type A = import("../${there}/a.ts").A;`,
            `const quote = /["'\`]/; const t = \`\${{ a: await import("../${there}/a.ts") }}\`;`,
          ]
        ) {
          assert.deepEqual(
            complaints(`src/${here}/here.ts`, text),
            [`src/${here}/here.ts -> src/${there}/a.ts: ${here} may not import ${there}`],
            text,
          );
        }
      }
    }
  });

  it("allows the same folder, and the folders and files that the table names", () => {
    for (const [here, { imports }] of Object.entries(house)) {
      for (const there of [here, ...imports]) {
        const path = there.includes("/") || there === "parley" ? `${there}.ts` : `${there}/a.ts`;
        assert.deepEqual(complaints(`src/${here}/deeper/here.ts`, `import "../../${path}";`), []);
      }
    }
    assert.deepEqual(complaints("src/tool/here.ts", `import "zod"; import "node:fs";`), []);
  });

  it("allows one file of a folder without allowing the others", () => {
    assert.deepEqual(complaints("src/session/tool-session.ts", `import "../store/types.ts";`), []);
    assert.equal(
      complaints("src/session/tool-session.ts", `import "../store/memory.ts";`).length,
      1,
    );
  });

  it("ignores comments and strings", () => {
    const text = [
      `// import "../platform/a.ts"`,
      `/* import "../platform/a.ts" */`,
      `const text = 'import "../platform/a.ts"' + \`from "../platform/a.ts"\`;`,
    ].join("\n");
    assert.deepEqual(complaints("src/store/here.ts", text), []);
  });

  it("keeps packages out of model/", () => {
    assert.deepEqual(complaints("src/model/errors.ts", `import "./events.ts";`), []);
    for (const other of ["../store/types.ts", "zod", "node:fs"]) {
      assert.equal(complaints("src/model/errors.ts", `import "${other}";`).length, 1, other);
    }
  });

  it("keeps the public surface and the executable out of the folders", () => {
    for (const other of ["../mod.ts", "../main.ts", "../shipped.ts", packageName]) {
      assert.equal(complaints("src/platform/here.ts", `import "${other}";`).length, 1, other);
    }
    assert.deepEqual(complaints("src/main.ts", `import "./mod.ts"; import "../tools/a.ts";`), []);
    assert.equal(complaints("src/mod.ts", `import "./main.ts";`).length, 1);
  });

  it("keeps the test kit out of everything but the surface and the program", () => {
    assert.deepEqual(complaints("src/mod.ts", `import "./testing/kit.ts";`), []);
    assert.equal(complaints("src/testing/here.ts", `import "../platform/bun.ts";`).length, 1);
    assert.equal(complaints("src/server/here.ts", `import "../testing/kit.ts";`).length, 1);
  });

  it("keeps Effection out of wire/", () => {
    const text = `import type { Operation } from "effection";`;
    assert.equal(complaints("src/wire/here.ts", text).length, 1);
    assert.deepEqual(complaints("src/session/tool-session.ts", text), []);
  });

  it("has a place for every file, and lets none import from outside src/", () => {
    assert.equal(complaints("src/utils.ts", "").length, 1);
    assert.equal(complaints("src/helpers/a.ts", "").length, 1);
    assert.equal(complaints("src/store/a.ts", `import "../../tests/suite.ts";`).length, 1);
  });

  it("refuses what it cannot parse", () => {
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
      assert.deepEqual(globalComplaints([{ path: "src/platform/a.ts", text }]), []);
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

  it("invariantComplaints() finds labels that are short, used twice, or not cited", () => {
    const complaintsOf = (...texts: string[]) =>
      invariantComplaints(texts.map((text, index) => ({ path: `src/${index}.ts`, text })));
    const head = "/**\n * LOG-1  Nothing is lost.\n */\n";
    assert.deepEqual(complaintsOf(`${head}// LOG-1: keep it.`), []);
    assert.deepEqual(complaintsOf(head, "// See LOG-1."), []);
    assert.equal(complaintsOf(head).length, 1);
    assert.equal(complaintsOf(head, "// LOG-10").length, 1);
    assert.equal(complaintsOf(`${head}// LOG-1`, `${head}// LOG-1`).length, 2);
    assert.equal(complaintsOf("/**\n * L1  Nothing is lost.\n */\n// L1").length, 1);
  });

  it("sizeComplaints() and medianLines() count lines", () => {
    const file = (lines: number) => ({ path: `src/${lines}.ts`, text: "x\n".repeat(lines) });
    assert.deepEqual(sizeComplaints([file(400)], 400), []);
    assert.equal(sizeComplaints([file(401), file(3)], 400).length, 1);
    assert.equal(medianLines([file(1), file(500), file(7)]), 7);
    assert.equal(medianLines([file(1), file(500), file(7), file(9)]), 8);
  });

  it("sliverComplaints() finds a small file with one importer, and stale exceptions", () => {
    const small = { path: "src/lib/a.ts", text: "export const a = 1;\n" };
    const large = { path: "src/lib/b.ts", text: `import "./a.ts";\n${"x;\n".repeat(40)}` };
    const other = { path: "src/lib/c.ts", text: `import "./a.ts";\n${"x;\n".repeat(40)}` };
    assert.equal(sliverComplaints([small, large], packageName).length, 1);
    assert.deepEqual(sliverComplaints([small, large, other], packageName), []);
    assert.deepEqual(sliverComplaints([small, large], packageName, { [small.path]: "why" }), []);
    assert.equal(sliverComplaints([large], packageName, { [small.path]: "why" }).length, 1);
  });
});
