/** A project whose tools import packages and files from elsewhere, and its bundle. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folderOf } from "../../../scripts/third-party.ts";
import { root } from "../../harness/files.ts";
import { peerCommand } from "../../harness/peers.ts";
import { runProgram, type Start, useProgram } from "../../support/program.ts";

const FILES = {
  "tools/trip.ts": `
    import { createMcpTool } from "parley-mcp";
    import { call } from "effection";
    import { readFileSync } from "node:fs";
    import { z } from "zod";
    import * as mini from "zod/mini";
    import { around } from "around-package";
    import { count } from "../lib/helper.ts";
    import facts from "../lib/facts.json" with { type: "json" };

    export const trip = createMcpTool("trip").description("Plans a trip.")
      .parameters(z.object({ to: z.string() }))
      .execute(function* ({ to }) {
        const { late } = yield* call(() => import("../lib/late.ts"));
        const beside = readFileSync(new URL("./texts/beside.txt", import.meta.url), "utf8");
        return [around(to), count(), late, facts.fact, beside, mini.string().parse("mini")].join();
      });`,
  "tools/count.ts": `
    import { createMcpTool } from "parley-mcp";
    import { count } from "../lib/helper.ts";
    export const counted = createMcpTool("counted").description("Counts.")
      .execute(function* () { return String(count()); });`,
  "tools/trip.test.ts": `throw new Error("no tool");`,
  "tools/texts/beside.txt": "beside",
  "tools/.env": "SECRET=1",
  "tools/store.db": "SECRET=1",
  "lib/helper.ts": `let calls: number = 0;\nexport function count(): number { return ++calls; }`,
  "lib/late.ts": `export const late: string = "late";`,
  "lib/facts.json": `{ "fact": "fact" }`,
  "node_modules/around-package/package.json": `{ "name": "around-package", "version": "1.0.0" }`,
  "node_modules/around-package/index.js":
    `const path = require("path");\nexports.around = (text) => path.posix.join("(", text, ")");`,
};

/** Writes the project. Only packages that the program does not bring are installed in it. */
export function writeTripProject(folder: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  symlinkSync(folderOf("zod", root)!, join(folder, "node_modules/zod"), "dir");
}

/** The official tool, which fails if the bundle is invalid. */
export function mcpb(...args: string[]): string {
  const [path, file] = peerCommand("mcpb");
  const { status, stdout, stderr } = spawnSync(path, [file, ...args], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

interface BundleManifest {
  readonly tools: { readonly name: string }[];
  readonly compatibility: { readonly platforms: string[] };
  readonly server: {
    readonly entry_point: string;
    readonly mcp_config: { readonly command: string; readonly args: string[] };
  };
}

export interface Unpacked {
  readonly manifest: BundleManifest;
  /** The command, with the folder filled in. */
  readonly start: Start;
}

export function unpack(file: string, to: string): Unpacked {
  mcpb("unpack", file, to);
  mcpb("validate", join(to, "manifest.json"));
  const manifest: BundleManifest = JSON.parse(readFileSync(join(to, "manifest.json"), "utf8"));
  const { command, args } = manifest.server.mcp_config;
  const [first, ...rest] = [command, ...args].map((word) => word.replace("${__dirname}", to));
  return { manifest, start: [first!, ...rest] };
}

/** Bundles the project, removes it, and calls the bundle in an empty folder and home. */
export function* bundledTripWorks(
  folder: string,
  { start, executable = [], env = {} }: {
    start?: Start;
    executable?: string[];
    env?: { readonly [name: string]: string };
  },
): Operation<void> {
  const project = join(folder, "project");
  writeTripProject(project);
  const args = ["bundle", join(project, "tools"), ...executable, "--out", "it.mcpb"];
  const made = yield* runProgram(args, { ...(start && { start }), cwd: folder, env });
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stderr, /contains 2 tools for \w+( \w+)?, and passed a test start\./);
  assert.match(made.stderr, /^Private files are not in the bundle: .*tools\/\.env, .*store\.db$/m);
  rmSync(project, { recursive: true });

  const unpacked = unpack(join(folder, "it.mcpb"), join(folder, "out"));
  assert.deepEqual(unpacked.manifest.tools.map(({ name }) => name).sort(), ["counted", "trip"]);
  const packed = readdirSync(join(folder, "out"), { recursive: true }).map(String);
  assert.deepEqual(packed.filter((name) => /\.env|store\.db/.test(name)), []);
  for (const name of ["cwd", "home"]) mkdirSync(join(folder, name));
  const program = yield* useProgram([], {
    start: unpacked.start,
    cwd: join(folder, "cwd"),
    env: { HOME: join(folder, "home"), USERPROFILE: join(folder, "home") },
  });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x" } };
  program.send({ id: 0, method: "initialize", params });
  program.send({
    id: 1,
    method: "tools/call",
    params: { name: "trip", arguments: { to: "Graz" } },
  });
  yield* until(program.says(/"id":1,.*\n/, "stdout"));
  program.send({ id: 2, method: "tools/call", params: { name: "counted" } });
  yield* until(program.says(/"id":2,.*\n/, "stdout"));
  const texts = program.messages.filter(({ id }) => id !== 0)
    .map(({ result }) => (result as { content: { text: string }[] }).content[0]!.text);
  // The second shows that both tools have the same helper.
  assert.deepEqual(texts, ["(/Graz/),1,late,fact,beside,mini", "2"]);
}
