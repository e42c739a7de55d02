/** Completions: the scripts for shells, and the answers that those scripts ask for. */
import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";
import type { Terminal } from "./terminal/terminal.ts";

/** The command that prints a script. */
const PRINTS = "completions";

/** What an answer ends with: nothing else fits, or names of files may. */
const NO_FILES = ":4";
const FILES = ":0";

/** Prints a script, or answers one. */
export async function complete(
  program: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const commands = program.commands as Command[];
  commands.splice(commands.findIndex((command) => command.name() === PRINTS), 1);
  for (const command of commands) command.description(command.summary() || command.description());
  tab(program, { completionCommandName: PRINTS });
  const said = await listened(() => program.parseAsync([...args], { from: "user" }));
  // Where nothing else fits, a module may.
  const isFile = said.length === 1 && said[0] === NO_FILES && !args.at(-1)!.startsWith("-");
  terminal.print(isFile ? FILES : said.join("\n"));
}

/** What is printed meanwhile, instead of its being printed. */
async function listened(work: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: unknown) => lines.push(String(line));
  try {
    await work();
  } finally {
    console.log = log;
  }
  return lines;
}
