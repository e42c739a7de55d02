/** The commands, their flags and their help. What a command does is loaded when it is used. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Operation } from "effection";
import { parseRange } from "../lib/ip-address.ts";
import { MCP_APP_NAMES } from "./mcp-app-names.ts";
import { LOG_FORMATS, LOG_LEVELS } from "./log.ts";
import type { Environment } from "./environment.ts";

const MODULES =
  "TypeScript or JavaScript files, or folders of them, that export tools, prompts or resources; without any, the tools that ship with Parley";
const SHELLS = ["zsh", "bash", "fish", "powershell"];

/** What a command is given to work with. */
export interface Workbench {
  readonly environment: Environment;
  /** Waits for an exit code. */
  finish(exitCode: Promise<number>): Promise<void>;
  /** Runs an operation that ends with an exit code. */
  operate(operation: () => Operation<number>): Promise<void>;
}

/** Each adds itself to the program, in the order of the help. */
export const COMMANDS: {
  readonly [name: string]: (program: Command, workbench: Workbench) => void;
} = {
  serve(program, { operate, environment }) {
    program.command("serve")
      .summary("serve tools over HTTP")
      .description("Serves tools over HTTP, to any number of clients, until Ctrl-C.")
      .argument("[module...]", MODULES)
      .addOption(
        new Option("-p, --port <number>", "where to listen; 0 for any free port")
          .env("PORT").argParser(toPort).default(7411),
      )
      .addOption(
        new Option("--host <address>", "on which address; 0.0.0.0 for all of this machine's")
          .env("HOST").default("127.0.0.1"),
      )
      .option(
        "--allow-host <name>",
        "a name under which clients may call, besides localhost; * for any (repeatable)",
        collect,
      )
      .option(
        "--allow-origin <origin>",
        "an origin whose web pages may call, such as https://example.com (repeatable)",
        collect,
      )
      .option(
        "--trust-proxy <cidr>",
        "a proxy whose Forwarded and X-Forwarded-* headers are believed, by address or range such as 10.0.0.0/8 (repeatable)",
        toRanges,
      )
      .option(
        "--store <address>",
        "where calls of durable tools are kept, so that they outlast this program; sqlite:PATH",
      )
      .addOption(
        new Option(
          "--state <where>",
          "where a waiting call of a modern client is: on this server, or sealed into what the client carries, for durable tools that allow it; needs PARLEY_KEY",
        ).choices(["here", "sealed"]).default("here"),
      )
      .addOption(
        new Option("--keep <days>", "how long a call is kept that nobody comes back to")
          .argParser(toDays).default(7),
      )
      .addOption(
        new Option("--max-memory <MB>", "how much memory calls that wait may take together")
          .argParser(toMegabytes).default(256),
      )
      .addOption(
        new Option("--max-store <MB>", "how much the calls in the store may take together")
          .argParser(toMegabytes).default(1_024),
      )
      .addOption(
        new Option("--public-url <address>", "where browsers reach it, if not on this machine")
          .argParser(toAddress),
      )
      .addOption(allowFormPasswords())
      .addOption(noFormPasswords())
      .option("--legacy-sse", "also serve the HTTP+SSE transport of 2024-11-05, at /sse")
      .addOption(
        new Option("--grace <seconds>", "how long calls may go on after Ctrl-C")
          .argParser(toSeconds).default(10),
      )
      .addOption(logLevel("info"))
      .addOption(logFormat())
      .action(async (modules, options) => {
        const { serve } = await import("./commands/serve.ts");
        await operate(() => serve(modules, options, environment));
      });
  },

  stdio(program, { operate, environment }) {
    program.command("stdio")
      .summary("serve tools on stdin and stdout, as desktop apps want it")
      .description(
        "Serves tools to one client on stdin and stdout. Claude Desktop, VS Code, Cursor and others start it by themselves; `parley install` tells them how.",
      )
      .argument("[module...]", MODULES)
      .addOption(allowFormPasswords())
      .addOption(noFormPasswords())
      .addOption(logLevel("warning"))
      .addOption(logFormat())
      .action(async (modules, options) => {
        const { stdio } = await import("./commands/stdio.ts");
        await operate(() => stdio(modules, options, environment));
      });
  },

  tools(program, { finish, environment }) {
    program.command("tools")
      .summary("show the tools, what they take and what they ask")
      .description("Shows the tools with their parameters, what they may ask, and what they need.")
      .argument("[module...]", MODULES)
      .option("--json", "as JSON")
      .action(async (modules, options) => {
        const { tools } = await import("./commands/tools.ts");
        await finish(tools(modules, options, environment));
      });
  },

  call(program, { operate, environment }) {
    program.command("call")
      .summary("call a tool, and answer its questions here")
      .description("Calls a tool, here or on a server, and puts its questions to you.")
      .argument("<tool>", "the name of the tool")
      .argument("[arguments]", "what to call it with, as JSON; asked for if it is missing")
      .argument("[module...]", MODULES)
      .option("--url <address>", "call it on this server, such as http://127.0.0.1:7411/mcp")
      .option("--header <line>", 'a header for the server, "Name: value" (repeatable)', collect)
      .addOption(
        new Option("--model <who>", "who answers the tool's questions to the model")
          .choices(["auto", "me"]).default("auto"),
      )
      .option("--json", "print the whole result as JSON, and nothing else on stdout")
      .action(async (tool, args, modules, options) => {
        const { call } = await import("./commands/call.ts");
        await operate(() => call({ tool, args, modules }, options, environment));
      });
  },

  install(program, { finish, environment }) {
    program.command("install")
      .summary("tell an app on this machine about the tools")
      .description("Adds the tools to an app's configuration. What is there stays, with a backup.")
      .addArgument(program.createArgument("<app>", "which app").choices(MCP_APP_NAMES))
      .argument("[module...]", MODULES)
      .option("--name <name>", "what the app calls it", "parley")
      .option("--project", "for the project in this folder only, where the app can do that")
      .option("--url <address>", "a server that is running, instead of one that the app starts")
      .option("--print", "show what would be written, and write nothing")
      .action(async (app, modules, options) => {
        const { install } = await import("./commands/install.ts");
        await finish(install(app, modules, options, environment));
      });
  },

  bundle(program, { operate, environment }) {
    program.command("bundle")
      .summary("make an .mcpb file, to be opened with Claude Desktop")
      .description(
        "Makes an .mcpb bundle of this program, the tools and all that they import, to be installed by a click. It is started in an empty folder before it is written.",
      )
      .argument("[module...]", MODULES)
      .option("-o, --out <file>", "where to write it; default: NAME-VERSION.mcpb")
      .option("--name <name>", "what the bundle is called", "parley")
      .option("--executable <file>", "the compiled program, where this is not one itself")
      .action(async (modules, options) => {
        const { bundle } = await import("./commands/bundle.ts");
        await operate(() => bundle(modules, options, environment));
      });
  },

  new(program, { finish, environment }) {
    program.command("new")
      .summary("write a small project with one tool and its test")
      .argument("<name>", "of the project and its folder, such as my-tools")
      .action(async (name) => {
        const { createProject } = await import("./commands/new.ts");
        await finish(createProject(name, environment));
      });
  },

  test(program, { operate }) {
    program.command("test")
      .summary("run the tests of a project")
      .argument("[file...]", "parts of test files' names; all of them unless told")
      .action(async (files) => {
        const { test } = await import("./commands/test.ts");
        await operate(() => test(files));
      });
  },

  completions(program, { environment }) {
    program.command("completions")
      .summary("print completions for a shell")
      .description(
        "Prints completions for a shell, to be loaded by it:\n\n  source <(parley completions bash)",
      )
      .addArgument(program.createArgument("<shell>", "which shell").choices(SHELLS))
      .action(async (shell) => {
        const { SCRIPTS } = await import("./completions.ts");
        environment.terminal.print(SCRIPTS[shell]!);
      });
  },
};

function logLevel(otherwise: typeof LOG_LEVELS[number]): Option {
  return new Option("--log-level <level>", "how much to tell on stderr")
    .choices(LOG_LEVELS).default(otherwise);
}

function allowFormPasswords(): Option {
  return new Option(
    "--allow-form-passwords",
    "let forms ask for passwords, which the client then sees",
  );
}

/** Former versions needed it. Today it has no effect, and whoever gives it is told so. */
function noFormPasswords(): Option {
  return new Option("--no-form-passwords").hideHelp();
}

function logFormat(): Option {
  return new Option("--log-format <format>", "how to write it").choices(LOG_FORMATS)
    .default("text");
}

function toPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is a number from 0 to 65535.");
}

function toRanges(text: string, before: readonly string[] = []): string[] {
  if (parseRange(text)) return [...before, text];
  throw new InvalidArgumentError("It is an IP address or a range such as 10.0.0.0/8.");
}

function toAddress(text: string): string {
  const { protocol, href } = URL.parse(text) ?? {};
  if (href !== undefined && (protocol === "http:" || protocol === "https:")) return href;
  throw new InvalidArgumentError("It is an address such as https://example.com.");
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("It is a number of seconds, up to 3600.");
}

function toMegabytes(text: string): number {
  const megabytes = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && megabytes >= 1 && megabytes <= 1e9) return megabytes;
  throw new InvalidArgumentError("It is a number of megabytes, 1 or more.");
}

function toDays(text: string): number {
  const days = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && days > 0 && days <= 3_650) return days;
  throw new InvalidArgumentError("It is a number of days, up to 3650.");
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
