/** The commands with their flags and help. `server-flags.ts` has the flags of servers. The code of a command is loaded when the command is used. */
import { type Command, Option } from "commander";
import type { Operation } from "effection";
import type { Environment } from "./environment.ts";
import { collect, toCount, toDocumentAddress, toOrigin, toPort } from "./flag-values.ts";
import { CALL_STATES } from "../model/calls.ts";
import { DOORS } from "../model/events.ts";
import { MCP_APP_NAMES } from "./mcp-app-names.ts";
import { addServerFlags, SettingOption } from "./server-flags.ts";

const MODULES =
  "TypeScript or JavaScript files, or folders of them, that export tools, prompts or resources; default: the tools that ship with Parley";
const SHELLS = ["zsh", "bash", "fish", "powershell"];

/** The environment of a command, and the two ways to run it. */
export interface Workbench {
  readonly environment: Environment;
  /** Runs a command that is a promise of an exit code. */
  finish(exitCode: Promise<number>): Promise<void>;
  /** Runs a command that is an operation; its value is the exit code. */
  operate(operation: () => Operation<number>): Promise<void>;
}

/** Each function adds its command to the program. The help lists the commands in this order. */
export const COMMANDS: {
  readonly [name: string]: (program: Command, workbench: Workbench) => void;
} = {
  serve(program, { operate, environment }) {
    const command = program.command("serve")
      .summary("serve tools over HTTP")
      .description("Serves tools over HTTP to any number of clients. Stop it with Ctrl-C.")
      .argument("[module...]", MODULES)
      .addOption(config());
    addServerFlags(command)
      .action(async (modules, options) => {
        const { serve } = await import("./commands/serve.ts");
        await operate(() => serve(modules, options, environment));
      });
  },

  stdio(program, { operate, environment }) {
    const command = program.command("stdio")
      .summary("serve tools on stdin and stdout, for desktop apps")
      .description(
        "Serves tools to one client on stdin and stdout. Claude Desktop, VS Code, Cursor and other apps start it themselves; `parley install` configures them.",
      )
      .argument("[module...]", MODULES)
      .addOption(config());
    addServerFlags(command)
      .action(async (modules, options) => {
        const { stdio } = await import("./commands/stdio.ts");
        await operate(() => stdio(modules, options, environment));
      });
  },

  tools(program, { operate, environment }) {
    const command = program.command("tools")
      .summary("list the tools, their parameters and their questions")
      .description(
        "Lists the tools with their parameters, the questions they may ask, and the client features they need.",
      )
      .argument("[module...]", MODULES)
      .addOption(config())
      .option("--url <address>", "list the tools of this server instead")
      .option(
        "--header <line>",
        'header to send to the server, as "Name: value" (repeatable)',
        collect,
      );
    withSignIn(command)
      .option("--json", "print JSON")
      .action(async (modules, options) => {
        const { tools } = await import("./commands/tools.ts");
        await operate(() => tools(modules, options, environment));
      });
  },

  call(program, { operate, environment }) {
    const command = program.command("call")
      .summary("call a tool, and answer its questions here")
      .description("Calls a tool, here or on a server, and asks you its questions.")
      .argument("<tool>", "name of the tool")
      .argument("[arguments]", "the tool's arguments, as JSON; default: you are asked for them")
      .argument("[module...]", MODULES)
      .addOption(config())
      .addOption(new SettingOption("model.name", { flags: "--own-model <name>" }).hideHelp())
      .addOption(new SettingOption("model.url").hideHelp())
      .addOption(new SettingOption("model.keyFile").hideHelp())
      .option("--url <address>", "call the tool on this server, such as http://127.0.0.1:7411/mcp")
      .option(
        "--header <line>",
        'header to send to the server, as "Name: value" (repeatable)',
        collect,
      );
    withSignIn(command)
      .addOption(
        new Option(
          "--model <who>",
          "who answers when the tool asks a model: the configured model (auto), or you (me)",
        )
          .choices(["auto", "me"]).default("auto"),
      )
      .option("--json", "print only the result, as JSON, on stdout")
      .option(
        "--trace",
        "print the events of the call as they happen, or with --url the messages on the wire",
      )
      .action(async (tool, args, modules, options) => {
        const { call } = await import("./commands/call.ts");
        await operate(() => call({ tool, args, modules }, options, environment));
      });
  },

  "sign-out"(program, { operate, environment }) {
    program.command("sign-out")
      .summary("forget the sign-in to a server")
      .description(
        "Revokes and deletes the tokens that `parley call` has stored for a server.",
      )
      .argument("<address>", "URL of the server")
      .action(async (url) => {
        const { signOut } = await import("./commands/sign-out.ts");
        await operate(() => signOut(url, environment));
      });
  },

  install(program, { operate, environment }) {
    const command = program.command("install")
      .summary("add the tools to an app on this machine")
      .description(
        "Adds the tools to an app's configuration file. Keeps the other entries and writes a backup.",
      )
      .addArgument(program.createArgument("<app>", "the app").choices(MCP_APP_NAMES))
      .argument("[module...]", MODULES)
      .addOption(config())
      .option("--name <name>", "name of the server in the app", "parley")
      .option("--project", "install only for the project in this folder, if the app supports that")
      .option("--url <address>", "let the app use the server at this URL instead of starting one")
      .option("--print", "print the configuration instead of writing it")
      .option(
        "--check",
        "connect to the server first, and sign in if necessary; install only if this succeeds",
      )
      .option(
        "--header <line>",
        'header to send to the server for --check, as "Name: value" (repeatable)',
        collect,
      );
    withSignIn(command)
      .action(async (app, modules, options) => {
        const { checkedInstall } = await import("./commands/install.ts");
        await operate(() => checkedInstall(app, modules, options, environment));
      });
  },

  bundle(program, { operate, environment }) {
    program.command("bundle")
      .summary("make an .mcpb file for Claude Desktop")
      .description(
        "Makes an .mcpb bundle of this program, the tools and everything they import, which an app installs with one click. Test-starts the bundle in an empty folder before writing it.",
      )
      .argument("[module...]", MODULES)
      .addOption(config())
      .option("-o, --out <file>", "file to write; default: NAME-VERSION.mcpb")
      .option("--name <name>", "name of the bundle", "parley")
      .option(
        "--executable <file>",
        "compiled program to put into the bundle; default: this program, if it is compiled",
      )
      .action(async (modules, options) => {
        const { bundle } = await import("./commands/bundle.ts");
        await operate(() => bundle(modules, options, environment));
      });
  },

  new(program, { finish, environment }) {
    program.command("new")
      .summary("create a small project with one tool and its test")
      .argument("<name>", "name of the project and its folder, such as my-tools")
      .action(async (name) => {
        const { createProject } = await import("./commands/new.ts");
        await finish(createProject(name, environment));
      });
  },

  test(program, { operate }) {
    program.command("test")
      .summary("run the tests of a project")
      .argument("[file...]", "parts of the names of the test files to run; default: all files")
      .action(async (files) => {
        const { test } = await import("./commands/test.ts");
        await operate(() => test(files));
      });
  },

  token(program, { finish, environment }) {
    program.command("token")
      .summary("create a token for a program that cannot sign in")
      .description(
        "Creates a token, prints it once, and adds its hash to a token file for `parley serve`.",
      )
      .argument("<name>", "name of the program")
      .requiredOption("--token-file <file>", "file to add the token to")
      .option("--scope <scope>", "scope that the program gets (repeatable)", collect)
      .action(async (name, options) => {
        const { token } = await import("./commands/token.ts");
        await finish(token(name, options, environment));
      });
  },

  store(program, { operate, environment }) {
    program.command("store")
      .summary("export or erase the data of one caller")
      .description(
        "Prints the stored calls and sessions of one caller as JSON lines, or erases them. A server can keep using the store during an export. Stop the server before you erase data.",
      )
      .addArgument(
        program.createArgument("<action>", "what to do with the data").choices([
          "export",
          "erase",
        ]),
      )
      .requiredOption("--principal <id>", "id of the caller, as in the audit log")
      .requiredOption("--store <address>", "store of the server, in the form sqlite:PATH")
      .action(async (action, options) => {
        const { principalData } = await import("./commands/principal-data.ts");
        await operate(() => principalData(action, options, environment));
      });
  },

  calls(program, { operate, environment }) {
    program.command("calls")
      .summary("show calls, and answer, cancel or revive them")
      .description(
        "Shows the calls of a running server (--url) or of a store (--store), and answers, cancels or revives them. The server needs --console, and the same PARLEY_CONSOLE_TOKEN as this command. Before you use --store, stop the server. Changes take effect when it starts again.",
      )
      .addArgument(
        program.createArgument("[action]", "what to do; default: list").choices([
          "list",
          "show",
          "answer",
          "cancel",
          "revive",
          "replay",
        ]).default("list"),
      )
      .argument("[id]", "id of the call, except for list")
      .option("--url <address>", "address of a running server, such as http://127.0.0.1:7411")
      .option(
        "--header <line>",
        'header to send to the server, as "Name: value" (repeatable)',
        collect,
      )
      .option("--store <address>", "store of the server, in the form sqlite:PATH")
      .option(
        "--tools <module>",
        "module or folder with the tools of the calls (repeatable)",
        collect,
      )
      .option("--tool <name>", "list only calls of this tool")
      .option("--principal <id>", "list only calls of this caller")
      .option("--client <name>", "list only calls of this client")
      .addOption(
        new Option("--state <state>", "list only calls in this state").choices(CALL_STATES),
      )
      .addOption(
        new Option("--door <door>", "list only calls with a question at this door").choices(DOORS),
      )
      .addOption(
        new Option("--limit <number>", "list at most this many calls, up to 500; default: 100")
          .argParser(toCount),
      )
      .option("--watch", "print the list again after each change, until Ctrl-C")
      .option("--question <key>", "question to answer; default: the only open one")
      .option("--content <json>", "the answer, as JSON; default: you are asked for it")
      .option("--decline", "answer that the person declines")
      .option("--reason <text>", "why the call is cancelled")
      .option("--json", "print JSON")
      .action(async (action, id, options) => {
        const { calls } = await import("./commands/calls.ts");
        await operate(() => calls(action, id, options, environment));
      });
  },

  doctor(program, { operate, environment }) {
    program.command("doctor")
      .summary("check a server or this machine, and say what to fix")
      .description(
        "Checks a server from outside, through its proxies: TLS, metadata, CORS, streams, clocks. Without a URL, checks the settings, the store and the keys on this machine. Exits with 1 if there is a problem.",
      )
      .argument("[url]", "URL of the server, such as https://mcp.example.com/mcp")
      .option(
        "--header <line>",
        'header to send to the server, as "Name: value" (repeatable)',
        collect,
      )
      .addOption(
        new Option("--origin <origin>", "origin whose web pages must be able to call the server")
          .argParser(toOrigin),
      )
      .option(
        "--ca-file <file>",
        "certificates of authorities to trust besides those of the system, in PEM form",
      )
      .addOption(config())
      .addOption(
        new SettingOption("store", {
          description: "store to check on this machine, in the form sqlite:PATH",
        }),
      )
      .addOption(
        new SettingOption("auth.tokenFile", {
          description: "file of static tokens to check on this machine",
        }),
      )
      .addOption(new SettingOption("auth.clientSecretFile").hideHelp())
      .addOption(new SettingOption("model.name", { flags: "--own-model <name>" }).hideHelp())
      .addOption(new SettingOption("model.url").hideHelp())
      .addOption(new SettingOption("model.keyFile").hideHelp())
      .option("--json", "print JSON")
      .action(async (url, options) => {
        const { doctor } = await import("./commands/doctor.ts");
        await operate(() => doctor(url, options, environment));
      });
  },

  completions(program, { environment }) {
    program.command("completions")
      .summary("print a completion script for a shell")
      .description(
        "Prints a completion script for a shell. To load it in bash:\n\n  source <(parley completions bash)",
      )
      .addArgument(program.createArgument("<shell>", "the shell").choices(SHELLS))
      .action(async (shell) => {
        const { SCRIPTS } = await import("./completions.ts");
        environment.terminal.print(SCRIPTS[shell]!);
      });
  },
};

/** Adds the flags for servers that ask people to sign in. */
function withSignIn(command: Command): Command {
  return command
    .option("--client-id <id>", "OAuth client to sign in with; default: Parley registers one")
    .option("--client-secret-file <path>", "file with the secret of that client, if it has one")
    .addOption(
      new Option(
        "--client-metadata-url <address>",
        "client ID metadata document to sign in with, where the authorization server supports that",
      )
        .argParser(toDocumentAddress),
    )
    .addOption(
      new Option(
        "--callback-port <number>",
        "port on this machine to which the browser returns after signing in; default: any",
      )
        .argParser(toPort),
    );
}

function config(): Option {
  return new Option(
    "--config <path>",
    "config file; default: parley.config.ts or parley.config.json in this folder",
  );
}
