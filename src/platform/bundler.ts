/**
 * Bundles modules and everything they import, packages included, with Bun's bundler. A program
 * that was compiled with Bun contains the bundler, so this works on a machine without Bun or Node.
 */
import { type Operation, scoped } from "effection";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { useChild } from "./child.ts";
import { BE_BUN, bunCommand, type RuntimeCommand } from "./self.ts";

export interface BundlerOptions {
  /** Paths of the entry modules. */
  readonly entrypoints: readonly string[];
  /** A folder above all entry modules. The output has the same paths relative to `folder`. */
  readonly root: string;
  /** An empty folder for the output. */
  readonly out: string;
  /** The folder for the entry modules, relative to `out`. */
  readonly folder: string;
  /** Imports of exactly these names are not bundled. */
  readonly external: readonly string[];
}

export interface BundlerError {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** The extension of the output. Runtimes treat it as an ES module, whatever package.json says. */
export const BUNDLED = ".mjs";

/** Finds Bun: the runtime of this program, or the runtime inside another compiled program. */
export function* findBundler(program: string): Operation<RuntimeCommand | undefined> {
  const own = bunCommand();
  if (own) return own;
  const other = { command: program, args: [], env: BE_BUN };
  return yield* scoped(function* () {
    try {
      const env = { ...process.env, ...BE_BUN };
      const child = yield* useChild({ command: program, args: ["--revision"], cwd: ".", env });
      child.process.stdin.end();
      const code = yield* child.ended();
      // Only Bun supports `--revision`.
      return code === 0 && /^\d+\.\d+\.\d+\S*\s*$/.test(child.said.stdout) ? other : undefined;
    } catch {
      // The program cannot be started on this machine.
      return undefined;
    }
  });
}

/** Writes the bundle. Returns the errors in the modules. */
export function* runBundler(
  { command, args, env }: RuntimeCommand,
  options: BundlerOptions,
  work: string,
): Operation<BundlerError[]> {
  const script = join(work, "build.mjs");
  writeFileSync(script, scriptFor(options));
  return yield* scoped(function* () {
    const child = yield* useChild({
      command,
      args: [...args, script],
      cwd: options.root,
      env: { ...process.env, ...env },
    });
    child.process.stdin.end();
    const code = yield* child.ended();
    try {
      return JSON.parse(child.said.stdout) as BundlerError[];
    } catch {
      const { stderr } = child.said;
      return [{ message: stderr.trim() || `the bundler ended with exit code ${code}` }];
    }
  });
}

/**
 * The script that runs the bundler. It targets Node, because such code also runs on Bun and Deno.
 * It inlines no environment variables.
 */
function scriptFor({ entrypoints, root, out, folder, external }: BundlerOptions): string {
  const names = external.map((name) => name.replaceAll(/[^\w-]/g, "\\$&")).join("|");
  const config = {
    entrypoints,
    root,
    outdir: out,
    target: "node",
    format: "esm",
    splitting: true,
    env: "disable",
    // These modules exist only in Bun.
    external: ["bun", "bun:*"],
    naming: {
      entry: `${folder}/[dir]/[name]${BUNDLED}`,
      chunk: `chunks/[name]-[hash]${BUNDLED}`,
      asset: "assets/[name]-[hash].[ext]",
    },
    throw: false,
  };
  return `
const external = {
  name: "external",
  setup(build) {
    // Use a plugin, because the external option would match every name that begins with "zod".
    build.onResolve({ filter: /^(?:${names})$/ }, ({ path }) => ({ path, external: true }));
  },
};
let found;
try {
  const { success, logs } = await Bun.build({ ...${JSON.stringify(config)}, plugins: [external] });
  found = success ? [] : logs;
} catch (error) {
  found = error.errors ?? [error];
}
const errors = found.filter(({ level = "error" }) => level === "error").map((error) => ({
  message: error.message,
  file: error.position?.file,
  line: error.position?.line,
  column: error.position?.column,
}));
console.log(JSON.stringify(errors));
`;
}
