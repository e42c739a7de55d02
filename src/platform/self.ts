/** How this very program is started. */
import process from "node:process";
import { fileURLToPath } from "node:url";

/** A command, without the arguments that the user gave. */
export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: { readonly main: string };

/** Where Bun puts what is inside of an executable. */
const INSIDE = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i;

/** Whether this is one file that needs nothing else. */
export function isExecutable(): boolean {
  if ("Bun" in globalThis) return INSIDE.test(Bun.main);
  return "Deno" in globalThis && Deno.build.standalone;
}

/** The command that starts this program again, from wherever it is called. */
export function selfCommand(): SelfCommand {
  const command = process.execPath;
  if (isExecutable()) return { command, args: [] };
  const main = mainFile();
  return { command, args: "Deno" in globalThis ? ["run", "-A", main] : [main] };
}

/** What a person types to start it, as far as can be told. */
export function typedCommand(): string {
  if (isExecutable()) return "parley";
  if ("Bun" in globalThis) return "bun run parley";
  // Whoever came through npx may have no Deno of their own.
  return /[\\/]_npx[\\/]/.test(process.execPath) ? "npx -y deno task parley" : "deno task parley";
}

function mainFile(): string {
  if ("Deno" in globalThis) return fileURLToPath(Deno.mainModule);
  return "Bun" in globalThis ? Bun.main : process.argv[1]!;
}

export interface RuntimeCommand extends SelfCommand {
  readonly env: { readonly [name: string]: string };
}

/** What tells a program that was compiled with Bun to be Bun. */
export const BE_BUN = { BUN_BE_BUN: "1" };

/** The command that starts Bun, where this program runs on it. */
export function bunCommand(): RuntimeCommand | undefined {
  if (!("Bun" in globalThis)) return undefined;
  return { command: process.execPath, args: [], env: isExecutable() ? BE_BUN : {} };
}

/** The command that runs tests on what this program runs on, if that can run any. */
export function testCommand(files: readonly string[]): RuntimeCommand | undefined {
  const command = process.execPath;
  // What is compiled with Bun has all of Bun inside.
  const bun = bunCommand();
  if (bun) return { ...bun, args: ["test", ...files] };
  if (!("Deno" in globalThis)) return { command, args: ["--test", ...files], env: {} };
  // As the others do: types are for editors.
  const args = ["test", "-A", "--no-check", ...files];
  return isExecutable() ? undefined : { command, args, env: {} };
}
