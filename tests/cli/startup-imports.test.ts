/** What a server loads before its first answer. Each of these modules delays every start. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { listFiles, readText, root } from "../harness/files.ts";
import { staticImportsOf } from "../harness/tokens.ts";
import { describe, it } from "../suite.ts";

/** The modules of the first answer: the others are loaded on first use. */
const ENTRIES = [
  "src/main.ts",
  "src/mod.ts",
  "src/cli/commands/load.ts",
  "src/cli/commands/serve.ts",
  "src/cli/commands/stdio.ts",
  ...listFiles("tools", ".ts").filter((file) => /^tools\/[^/]+\.ts$/.test(file)),
];

describe("a server without options", () => {
  const { files, outside } = loadedBy(ENTRIES);

  it("loads only the parts of the runtime that load quickly", () => {
    assert.deepEqual([...outside].filter((name) => name.startsWith("node:")).sort(), [
      "node:buffer",
      "node:fs",
      "node:path",
      "node:process",
      "node:timers",
      "node:url",
    ]);
  });

  it("loads no package that it does not need", () => {
    assert.deepEqual([...outside].filter((name) => !name.startsWith("node:")).sort(), [
      "@cfworker/json-schema",
      "commander",
      "effection",
      "parley-mcp",
      "zod",
      "zod-to-json-schema",
      "zod/v3",
      "zod/v4/core",
    ]);
  });

  it("loads neither stores, nor clients, nor checks of tokens", () => {
    const lazy = [
      "src/auth/sign-in.ts",
      "src/auth/tokens.ts",
      "src/client/oauth/oauth.ts",
      "src/store/sqlite/stores.ts",
      "src/vault/vault.ts",
      "tools/bluesky/net/network.ts",
    ];
    for (const file of lazy) assert.ok(existsSync(join(root, file)), file);
    assert.deepEqual(lazy.filter((file) => files.has(file)), []);
  });
});

describe("the entry point of the program", () => {
  it("loads no schema library before it knows the command", () => {
    const { outside } = loadedBy(["src/main.ts"]);
    assert.deepEqual([...outside].filter((name) => !name.startsWith("node:")).sort(), [
      "commander",
      "effection",
    ]);
  });
});

/** Returns the files and packages that these files import, directly or through other files. */
function loadedBy(entries: readonly string[]): { files: Set<string>; outside: Set<string> } {
  const outside = new Set<string>();
  const files = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    if (!file.endsWith(".ts")) return;
    for (const name of staticImportsOf(readText(file))) {
      if (name.startsWith(".")) visit(posix.join(posix.dirname(file), name));
      else outside.add(name);
    }
  };
  entries.forEach(visit);
  return { files, outside };
}
