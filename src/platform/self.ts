/** The commands that start this program and its runtime. */
import process from "node:process";
import { fileURLToPath } from "node:url";

/** A command without the user's arguments. */
export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
declare const Bun: { readonly main: string };

/** The virtual folder in which Bun embeds the files of an executable. */
const INSIDE = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i;

/** True if this program is a compiled executable. */
export function isExecutable(): boolean {
  if ("Bun" in globalThis) return INSIDE.test(Bun.main);
  return "Deno" in globalThis && Deno.build.standalone;
}

/** The command that starts this program from any folder. */
export function selfCommand(): SelfCommand {
  const command = process.execPath;
  if (isExecutable()) return { command, args: [] };
  const main = mainFile();
  return { command, args: "Deno" in globalThis ? ["run", "-A", main] : [main] };
}

/** The command that a person probably typed to start this program. */
export function typedCommand(): string {
  if (isExecutable()) return "parley";
  if ("Bun" in globalThis) return "bun run parley";
  // A person who used npx may not have Deno installed.
  return /[\\/]_npx[\\/]/.test(process.execPath) ? "npx -y deno task parley" : "deno task parley";
}

function mainFile(): string {
  if ("Deno" in globalThis) return fileURLToPath(Deno.mainModule);
  return "Bun" in globalThis ? Bun.main : process.argv[1]!;
}

export interface RuntimeCommand extends SelfCommand {
  readonly env: { readonly [name: string]: string };
}

/** The environment variable that makes a program compiled with Bun act as Bun itself. */
export const BE_BUN = { BUN_BE_BUN: "1" };

/** The command that starts Bun. Undefined if this program does not run on Bun. */
export function bunCommand(): RuntimeCommand | undefined {
  if (!("Bun" in globalThis)) return undefined;
  return { command: process.execPath, args: [], env: isExecutable() ? BE_BUN : {} };
}

/** The command that runs tests on this program's runtime. Undefined if there is no test runner. */
export function testCommand(files: readonly string[]): RuntimeCommand | undefined {
  const command = process.execPath;
  // A program compiled with Bun contains all of Bun, so it can run tests itself.
  const bun = bunCommand();
  if (bun) return { ...bun, args: ["test", ...files] };
  if (!("Deno" in globalThis)) return { command, args: ["--test", ...files], env: {} };
  // Skip type checks, as the other runtimes do.
  const args = ["test", "-A", "--no-check", ...files];
  return isExecutable() ? undefined : { command, args, env: {} };
}
