/**
 * Compiles the program into one file that needs nothing else.
 *
 *     deno task compile [--target TARGET] [--out FILE]     with deno compile
 *     bun run compile [--target TARGET] [--out FILE]       with bun build --compile
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { PACKED } from "../src/host/own-packages.ts";
import { PATIENCE } from "../src/host/warm-up.ts";
import { listFiles, readText, root } from "../tests/harness/files.ts";
import { currentRuntime, installDependencies, useRuntime } from "../tests/harness/toolchain.ts";

const { values } = parseArgs({
  options: { target: { type: "string" }, out: { type: "string" } },
});
const windows = values.target === undefined
  ? process.platform === "win32"
  : values.target.includes("windows");
const out = resolve(values.out ?? join(root, "dist", windows ? "parley.exe" : "parley"));
const target = values.target === undefined ? [] : [`--target=${values.target}`];

installDependencies();
await import("./build.ts");
mkdirSync(dirname(out), { recursive: true });
const packed = join(root, "dist", PACKED);
writeFileSync(packed, packPackages());
if (currentRuntime() === "bun") compileWithBun();
else compileWithDeno();
console.log(`${out}: ${Math.round(statSync(out).size / 1e6)} MB`);

function compileWithBun(): void {
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
    `--compile-jit-policy=${PATIENCE}`,
    "--loader=.bin:file",
    ...target,
    `--outfile=${out}`,
    "src/main.ts",
    packed,
  ]);
  if (status !== 0) fail(output);
}

function compileWithDeno(): void {
  const { status, output } = build(useRuntime("deno").path, [
    "compile",
    "--allow-all",
    "--no-check",
    `--include=${packed}`,
    ...target,
    `--output=${out}`,
    "src/main.ts",
  ]);
  if (status === 0) return;
  if (/dl\.deno\.land|denort|download/i.test(output)) {
    fail(
      `Cannot compile with Deno: it gets the base of the executable from dl.deno.land, which cannot be reached from here; compile where it can, or with Bun: bun run compile\n\n${output}`,
    );
  }
  fail(output);
}

function build(path: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(path, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return { status, output: `${stdout}${stderr}` };
}

function fail(message: string): never {
  console.error(message.trim());
  process.exit(1);
}

/** What a project of its own needs: our package as it is built, and what tools import besides. */
function packPackages(): Uint8Array {
  const folders: [string, string][] = [
    ["parley-mcp", "dist/npm"],
    ["effection", "node_modules/effection"],
    ["zod", "node_modules/zod"],
    ["@types/node", "node_modules/@types/node"],
    ["undici-types", "node_modules/.deno/node_modules/undici-types"],
  ];
  const files = folders.flatMap(([name, folder]) =>
    listFiles(folder, "").filter(isNeeded).map((file) => [
      `${name}${file.slice(folder.length)}`,
      file.startsWith("dist/npm/types/") ? forDeno(readText(file)) : readText(file),
    ])
  );
  return gzipSync(JSON.stringify(Object.fromEntries(files)), { level: 9 });
}

/** In a folder of the project, Deno finds only those declarations that are called what they are. */
function forDeno(text: string): string {
  return text.replaceAll(/((?:from|import\()\s*"\.[^"]+)\.js"/g, '$1.d.ts"');
}

/** What is read by somebody: no second format, no maps, no sources. */
function isNeeded(file: string): boolean {
  return /\.(?:m?js|d\.[cm]?ts|json)$|\/LICENSE/.test(file) && !/\/(?:src|script)\//.test(file);
}
