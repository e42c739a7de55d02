/**
 * Compiles the program into one executable without dependencies.
 *
 *     deno task compile [--target TARGET] [--out FILE]     with deno compile
 *     bun run compile [--target TARGET] [--out FILE]       with bun build --compile
 *
 * Default: dist/parley, for this machine. With a target, the file has the target in its name,
 * such as dist/parley-darwin-arm64, and the base binary is downloaded on first use:
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

/** An error of the compiler, printed without a stack. */
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
  // Bytecode avoids parsing at each start, and requires an explicit format. With splitting, each
  // command loads only the code that it uses.
  const { status, output } = build(useRuntime("bun").path, [
    "build",
    "--compile",
    "--minify",
    "--bytecode",
    "--splitting",
    "--format=esm",
    // Files in the current folder must not change what the program does.
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

/** The names and descriptions of the tools. The program prints them before it loads the tools. */
async function announced(): Promise<Announced[]> {
  // The packages that the tools import are installed only now.
  const { shipped } = await import("../src/shipped.ts");
  return (await shipped()).map(({ kind, name, description }: Announced) => ({
    kind,
    name,
    ...(description !== undefined && { description }),
  }));
}

/** Compiles outside the project: inside, Deno would find missing packages in parent folders. */
function compileWithDeno(): void {
  const staged = mkdtempSync(join(tmpdir(), "parley-compile-"));
  // Deno removes the output file before it knows whether compiling succeeds.
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
      `Cannot compile with Deno: dl.deno.land, which has the base binary, cannot be reached; compile with network access, or with Bun: bun run compile\n\n${output}`,
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

/** The files that a new project needs: the built package, and the packages that tools import. */
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

/** Imports in declarations name `.js` files. In a project's own folder, Deno needs the `.d.ts` names. */
function forDeno(text: string): string {
  return text.replaceAll(/((?:from|import\()\s*"\.[^"]+)\.js"/g, '$1.d.ts"');
}

/** Files that a project uses: no second module format, no maps, no sources. */
function isNeeded(file: string): boolean {
  return /\.(?:m?js|d\.[cm]?ts|json)$|LICENSE|THIRD-PARTY/.test(file) &&
    !/(?:^|\/)(?:src|script|node_modules)\//.test(file);
}
