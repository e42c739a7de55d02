import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { publicSymbols } from "../../scripts/api-reference.ts";
import { madePages } from "../../scripts/made-pages.ts";
import { listFiles, readText, root } from "../harness/files.ts";
import { listPages } from "../harness/pages.ts";
import { tokens } from "../harness/tokens.ts";
import { describe, it } from "../suite.ts";

const pages = listPages();

/** The names of sections, as links write them. */
function anchorsOf(page: string): Set<string> {
  const titles = Array.from(readText(page).matchAll(/^#+ (.+)$/gm), ([, title = ""]) => title);
  return new Set(
    titles.map((title) => title.toLowerCase().replaceAll(/[^\w\s-]/g, "").replaceAll(" ", "-")),
  );
}

/** A decision record is listed in the index of docs/decisions, and not in the README. */
const isRecord = (page: string) => /^docs\/decisions\/\d/.test(page);

describe("the pages", () => {
  it("link to what is there", () => {
    for (const page of [...pages, "llms.txt"]) {
      for (const [, target = ""] of readText(page).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue;
        const [path = "", anchor] = target.split("#");
        const file = path === "" ? page : posix.join(dirname(page), path);
        assert.ok(existsSync(join(root, file)), `${page} links to ${target}`);
        if (anchor) assert.ok(anchorsOf(file).has(anchor), `${page} links to ${target}`);
      }
    }
  });

  it("name files of the source that exist, where they are for maintainers", () => {
    const forMaintainers = [
      "CONTRIBUTING.md",
      "docs/architecture.md",
      ...listFiles("docs/decisions", ".md"),
    ];
    for (const page of forMaintainers) {
      for (const [, path = ""] of readText(page).matchAll(/`((?:[\w.-]+\/)+(?:[\w.-]+\.ts)?)`/g)) {
        const exists = [path, `src/${path}`].some((file) => existsSync(join(root, file)));
        assert.ok(exists, `${page} names ${path}`);
      }
    }
  });

  it("are all in llms.txt, and can all be reached from the README", () => {
    const listed = pages.filter((page) => !isRecord(page));
    const list = readText("llms.txt");
    assert.deepEqual(listed.filter((page) => !list.includes(`](${page})`)), []);
    const readme = readText("README.md");
    assert.deepEqual(listed.filter((page) => page !== "README.md" && !readme.includes(page)), []);
  });

  it("have an index of the decision records, which are numbered without gaps", () => {
    const index = readText("docs/decisions/README.md");
    const linked = Array.from(index.matchAll(/\]\((\d{4}-[a-z0-9-]+\.md)\)/g), ([, name]) => name);
    const records = pages.filter(isRecord).map((page) => posix.basename(page));
    assert.deepEqual(linked, records);
    const numbers = records.map((name) => Number(name.slice(0, 4)));
    assert.deepEqual(numbers, records.map((_, index) => index + 1));
  });

  it("are as the source makes them, where it does", () => {
    for (const [path, text] of madePages()) {
      assert.ok(readText(path) === text, `${path} is out of date: run deno task api`);
    }
  });

  it("name every variable of the environment that the program reads, and no other", () => {
    const section = readText("docs/operation.md").split("## Environment")[1]!.split("\n## ")[0]!;
    const told = new Set(
      Array.from(section.matchAll(/^\| ([^|]+) \|/gm), ([, cell = ""]) => cell)
        .flatMap((cell) => Array.from(cell.matchAll(/`([A-Z_]+)`/g), ([, name = ""]) => name)),
    );
    assert.deepEqual([...told].sort(), [...variablesRead()].sort());
  });

  it("quote messages as the program has them", () => {
    const section = readText("docs/operation.md").split("## When something is wrong")[1]!;
    const source = listFiles("src", ".ts").map(readText).join("\n");
    const quotes = Array.from(section.matchAll(/^\| ([^|]*)\|/gm), ([, cell = ""]) => cell)
      .flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, quote = ""]) => quote));
    assert.ok(quotes.length >= 9, `${quotes.length} messages`);
    // A message is put together where it has a value (… or a number) or a colon.
    const parts = quotes.flatMap((quote) => quote.split(/\s*(?:…|\b\d+\b|: )\s*/));
    assert.deepEqual(parts.filter((part) => !source.includes(part)), []);
  });
});

/** What the compiler puts in. */
const COMPILED_IN = "PARLEY_ANNOUNCED";

/** What the source takes from the environment, however it is written. */
function variablesRead(): Set<string> {
  const names = new Set(["PORT", "HOST"]); // by Commander, and in the table of flags
  for (const file of ["src", "tools"].flatMap((folder) => listFiles(folder, ".ts"))) {
    const all = tokens(readText(file));
    for (const [index, { kind, text }] of all.entries()) {
      if (!/^[A-Z][A-Z_]+$/.test(text)) continue;
      const [before, last] = [all[index - 2], all[index - 1]];
      const read = before?.text === "env" && (last?.text === "." || last?.text === "[");
      const named = kind === "string" && /_(?:API_KEY|BASE_URL|HOST)$/.test(text);
      // Codes of errors begin in the same way, and are kept apart in src/model/errors.ts.
      const ours = /^PARLEY_/.test(text) && file !== "src/model/errors.ts" &&
        text !== COMPILED_IN &&
        !(last?.text === "=" && before?.text === "code");
      if (read || named || ours) names.add(text);
    }
  }
  return names;
}

describe("every public symbol", () => {
  const symbols = publicSymbols();

  it("is explained", () => {
    assert.ok(symbols.length > 100);
    assert.deepEqual(symbols.filter(({ doc }) => doc.length < 10).map(({ name }) => name), []);
  });

  it("that can be called without reading on has an example", () => {
    const functions = symbols.filter(({ kind }) => kind === "function");
    const without = functions.filter(({ examples }) => examples.length === 0);
    // The same as createParley, and said so.
    assert.deepEqual(without.map(({ name }) => name), ["createMcpHandler"]);
  });
});
