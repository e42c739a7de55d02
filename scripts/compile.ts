/**
 * Compiles the program into one file that needs nothing else.
 *
 *     deno task compile [--target TARGET] [--out FILE]     with deno compile
 *     bun run compile [--target TARGET] [--out FILE]       with bun build --compile
 *
 * Without a target, it is dist/parley, for this machine. With one, the target is in the file's
 * name, such as dist/parley-darwin-arm64, and its base is fetched on first use:
 *
 *   Bun   bun-linux-x64, bun-linux-arm64, bun-linux-x64-musl, bun-darwin-arm64,
 *         bun-darwin-x64, bun-windows-x64 (from npm)
 *   Deno  x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu, aarch64-apple-darwin,
 *         x86_64-apple-darwin, x86_64-pc-windows-msvc (from dl.deno.land)
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import type { Announced } from "../src/cli/environment.ts";
import { PACKED } from "../src/platform/own-packages.ts";
import { JIT_POLICY } from "../src/platform/warm-up.ts";
import { root } from "../tests/harness/files.ts";
import { currentRuntime, installDependencies, useRuntime } from "../tests/harness/toolchain.ts";
import { installAddonsFor } from "./addons.ts";
import { buildPackage } from "./package.ts";
import { stage } from "./stage.ts";
import { machineOf, outputFor } from "./targets.ts";
import { folderOf } from "./third-party.ts";

/** What the compiler said, for a person to read: no stack. */
class Failure extends Error {}

const { values } = parseArgs({
  options: { target: { type: "string" }, out: { type: "string" } },
});
const out = outputFor(values, join(root, "dist"));
const target = values.target === undefined ? [] : [`--target=${values.target}`];

installDependencies();
const folder = dirname(out);
mkdirSync(folder, { recursive: true });
const built = join(folder, "npm");
buildPackage(built);
const packed = join(folder, PACKED);
writeFileSync(packed, packPackages());
try {
  if (currentRuntime() === "bun") await compileWithBun();
  else compileWithDeno();
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message.trim());
  process.exit(1);
}
copyFileSync(join(built, "THIRD-PARTY.txt"), join(folder, "THIRD-PARTY.txt"));
console.log(`${out}: ${Math.round(statSync(out).size / 1e6)} MB`);

async function compileWithBun(): Promise<void> {
  if (values.target !== undefined) installAddonsFor(values.target);
  // Bytecode need not be parsed at each start, but the format must be stated; split, only what
  // a command uses is loaded.
  const { status, output } = build(useRuntime("bun").path, [
    "build",
    "--compile",
    "--minify",
    "--bytecode",
    "--splitting",
    "--format=esm",
    // What lies in the folder where it is started must not change what it does.
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    `--compile-jit-policy=${JIT_POLICY}`,
    "--loader=.bin:file",
    `--define=PARLEY_ANNOUNCED=${JSON.stringify(await announced())}`,
    ...target,
    `--outfile=${out}`,
    "src/main.ts",
    packed,
  ]);
  if (status !== 0) throw new Failure(output);
}

/** What is said of the tools at the start, so that they can be loaded after it. */
async function announced(): Promise<Announced[]> {
  // Only now are there the packages that they import.
  const { shipped } = await import("../src/shipped.ts");
  return (await shipped()).map(({ kind, name, description }: Announced) => ({
    kind,
    name,
    ...(description !== undefined && { description }),
  }));
}

/** From a folder elsewhere: in one of the project, a package that is missing would be found above. */
function compileWithDeno(): void {
  const staged = mkdtempSync(join(tmpdir(), "parley-compile-"));
  // Deno removes the file that it is to write before it knows whether it can.
  const made = join(staged, basename(out));
  // The program looks for the file at this path.
  const inside = `dist/${PACKED}`;
  const machine = values.target === undefined ? undefined : machineOf(values.target);
  try {
    stage(staged, { machine, files: { [inside]: packed } });
    const { status, output } = build(useRuntime("deno").path, [
      "compile",
      "--allow-all",
      "--no-check",
      `--include=${inside}`,
      ...target,
      `--output=${made}`,
      "src/main.ts",
    ], staged);
    if (status === 0) {
      copyFileSync(made, `${out}.new`);
      renameSync(`${out}.new`, out);
      return;
    }
    if (!/dl\.deno\.land|denort|download/i.test(output)) throw new Failure(output);
    throw new Failure(
      `Cannot compile with Deno: it gets the base of the executable from dl.deno.land, which cannot be reached from here; compile where it can, or with Bun: bun run compile\n\n${output}`,
    );
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function build(
  path: string,
  args: readonly string[],
  cwd = root,
): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(path, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return { status, output: `${stdout}${stderr}` };
}

/** What a project of its own needs: our package as it is built, and what tools import besides. */
function packPackages(): Uint8Array {
  const types = folderOf("@types/node", root)!;
  const folders: [string, string][] = [
    ["parley-mcp", built],
    ["effection", folderOf("effection", root)!],
    ["zod", folderOf("zod", root)!],
    ["@types/node", types],
    ["undici-types", folderOf("undici-types", types)!],
  ];
  const files = folders.flatMap(([name, folder]) =>
    readdirSync(folder, { recursive: true }).map((file) => String(file).replaceAll("\\", "/"))
      .filter(isNeeded)
      .map((file) => [`${name}/${file}`, textOf(name, file, join(folder, file))])
  );
  return gzipSync(JSON.stringify(Object.fromEntries(files)), { level: 9 });
}

function textOf(name: string, file: string, path: string): string {
  const text = readFileSync(path, "utf8");
  return name === "parley-mcp" && file.startsWith("types/") ? forDeno(text) : text;
}

/** In a folder of the project, Deno finds only those declarations that are called what they are. */
function forDeno(text: string): string {
  return text.replaceAll(/((?:from|import\()\s*"\.[^"]+)\.js"/g, '$1.d.ts"');
}

/** What is read by somebody: no second format, no maps, no sources. */
function isNeeded(file: string): boolean {
  return /\.(?:m?js|d\.[cm]?ts|json)$|LICENSE|THIRD-PARTY/.test(file) &&
    !/(?:^|\/)(?:src|script|node_modules)\//.test(file);
}
