/**
 * Runs a command of the pinned Deno or Bun, wherever they are installed: `tests/with.ts bun build
 * …`.
 */
import process from "node:process";
import { runChild } from "./harness/child.ts";
import { installDependencies, useRuntime } from "./harness/toolchain.ts";

const [name, ...args] = process.argv.slice(2);
if (name !== "deno" && name !== "bun") throw new Error(`Cannot run "${name}": say deno or bun`);
installDependencies();
process.exitCode = await runChild(useRuntime(name).path, args);
