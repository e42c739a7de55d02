/**
 * Bundles modules and all that they import, packages included, with Bun's bundler. A program
 * that was compiled with Bun has it inside, so that it works on a machine without Node.
 */
import { type Operation, scoped } from "effection";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { useChild } from "./child.ts";
import { BE_BUN, bunCommand, type RuntimeCommand } from "./self.ts";

export interface BundlerOptions {
  /** Paths of the modules to begin with. */
  readonly entrypoints: readonly string[];
  /** A folder above all of them; what is written has the same paths below its folder. */
  readonly root: string;
  /** An empty folder for what is written. */
  readonly out: string;
  /** Where the modules to begin with are written, below `out`. */
  readonly folder: string;
  /** What is imported by these very names stays an import. */
  readonly external: readonly string[];
}

export interface BundlerError {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** The ending of the modules that are written: an ES module, whatever stands around it. */
export const BUNDLED = ".mjs";

/** Bun: the one that this program runs on, or the one inside of another program. */
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
      // Only Bun knows that flag.
      return code === 0 && /^\d+\.\d+\.\d+\S*\s*$/.test(child.said.stdout) ? other : undefined;
    } catch {
      // It cannot be started here.
      return undefined;
    }
  });
}

/** Writes the bundle. Answers what is wrong with the modules; nothing if all is well. */
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

/** For Node: such code runs on Bun and on Deno as well. Nothing of the environment goes in. */
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
    // Only Bun has these.
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
    // By a plugin: the setting of that name would take "zod" for all that begins with it.
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
