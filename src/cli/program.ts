/** Parses a command line and runs its command. */
import { type Argument, Command, CommanderError } from "commander";
import { type Operation, run } from "effection";
import { ClientError } from "../client/client-error.ts";
import { messageOf } from "../lib/message-of.ts";
import { StoreError } from "../model/errors.ts";
import { VaultError } from "../vault/errors.ts";
import { COMMANDS } from "./command-table.ts";
import type { Environment } from "./environment.ts";
import { FAILED, Problem, USAGE } from "./problem.ts";
import { visible } from "./terminal/visible.ts";
import { usageProblem } from "./usage.ts";

/** Runs one command line. Resolves to the exit code. */
export async function runCommandLine(
  args: readonly string[],
  environment: Environment,
): Promise<number> {
  const { terminal } = environment;
  let exitCode = 0;
  const program = createProgram(args, environment, (code) => exitCode = code);
  try {
    if (args[0] === COMPLETE) {
      const { complete } = await import("./completions.ts");
      terminal.print(complete(program, args.slice(args[1] === "--" ? 2 : 1)));
    } else await program.parseAsync(args.length > 0 ? [...args] : ["--help"], { from: "user" });
  } catch (error) {
    exitCode = explain(error, environment);
  }
  await terminal.flush();
  return exitCode;
}

/** Prints what went wrong, in one sentence, and returns the exit code. */
function explain(error: unknown, { terminal }: Environment): number {
  const { red } = terminal.err;
  if (error instanceof CommanderError) {
    // Exit code 0 means help or version. For mistakes, Commander has printed the message.
    return error.exitCode === 0 ? 0 : USAGE;
  }
  if (error instanceof Problem) {
    terminal.note(red(visible(error.message)));
    return error.exitCode;
  }
  // The cause is the server, the store or the keyring, not Parley: print no stack.
  if (
    error instanceof ClientError || error instanceof StoreError || error instanceof VaultError
  ) {
    terminal.note(red(visible(error.message)));
    return FAILED;
  }
  terminal.note(
    red(
      visible(
        `Cannot continue: ${
          messageOf(error)
        }; this is a bug in Parley, please report it with this stack:`,
      ),
    ),
  );
  if (error instanceof Error && error.stack) terminal.note(visible(error.stack));
  return FAILED;
}

type Done = (exitCode: number) => void;

function createProgram(
  [first]: readonly string[],
  environment: Environment,
  done: Done,
): Command {
  const { terminal, version } = environment;
  const finish = async (code: Promise<number>) => done(await code);
  const operate = (operation: () => Operation<number>) => finish(run(operation));

  const program = new Command("parley")
    .description(
      "Runs MCP tools that can stop and ask the person or the model, with every MCP client.",
    )
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help for a command")
    .helpCommand("help [command]", "show help for a command")
    .configureHelp({
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(argumentTerm)].join(" "),
      styleTitle: (text) => terminal.out.bold(text),
      styleCommandText: (text) => terminal.out.cyan(text),
      styleSubcommandText: (text) => terminal.out.cyan(text),
      styleOptionTerm: (text) => terminal.out.cyan(text),
      styleArgumentTerm: (text) => terminal.out.cyan(text),
    })
    .configureOutput({
      writeOut: (text) => terminal.print(text.replace(/\n$/, "")),
      writeErr: (text) => terminal.note(text.replace(/\n$/, "")),
      getOutHelpWidth: () => Math.min(100, terminal.columns("stdout")),
      getErrHelpWidth: () => Math.min(100, terminal.columns("stderr")),
      outputError: (text, write) => write(terminal.err.red(usageProblem(text))),
      getOutHasColors: () => true,
      getErrHasColors: () => true,
    })
    .exitOverride()
    .addHelpText("after", EXAMPLES)
    .hook("preAction", async (_, command) => {
      if (command.options.every(({ long }) => long !== "--config")) return;
      const { applySettings } = await import("./settings.ts");
      await applySettings(command, environment);
    });

  const known = first !== undefined && Object.hasOwn(COMMANDS, first) ? [first] : undefined;
  // Adds only the command that is used: describing the others takes longer than running it.
  for (const name of known ?? Object.keys(COMMANDS)) {
    COMMANDS[name]!(program, { environment, finish, operate });
  }
  return program;
}

const EXAMPLES = `
Examples:
  parley new my-tools              a project to start from
  parley serve my-tools/tools      serve its tools over HTTP
  parley call plan_dinner          call a tool that ships with Parley
  parley install claude-desktop    let Claude Desktop use the tools`;

/** The hidden command that a completion script calls. */
const COMPLETE = "complete";

function argumentTerm(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
