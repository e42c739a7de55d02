/** The commands with their flags and help. The code of a command is loaded when the command is used. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Operation } from "effection";
import { parseRange } from "../lib/ip-address.ts";
import { MCP_APP_NAMES } from "./mcp-app-names.ts";
import { LOG_FORMATS, LOG_LEVELS } from "./log.ts";
import type { Environment } from "./environment.ts";

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
    program.command("serve")
      .summary("serve tools over HTTP")
      .description("Serves tools over HTTP to any number of clients. Stop it with Ctrl-C.")
      .argument("[module...]", MODULES)
      .addOption(config())
      .addOption(serverName())
      .addOption(serverVersion())
      .addOption(instructions())
      .addOption(
        new Option("-p, --port <number>", "port to listen on; 0 picks a free one")
          .env("PORT").argParser(toPort).default(7411),
      )
      .addOption(
        new Option(
          "--host <address>",
          "address to listen on; 0.0.0.0 for all addresses of this machine",
        )
          .env("HOST").default("127.0.0.1"),
      )
      .option(
        "--allow-host <name>",
        "host name that clients may use besides localhost; * for any (repeatable)",
        collect,
      )
      .option(
        "--allow-origin <origin>",
        "origin whose web pages may call the server, such as https://example.com (repeatable)",
        collect,
      )
      .option(
        "--trust-proxy <cidr>",
        "proxy whose Forwarded and X-Forwarded-* headers are trusted, as an address or a range such as 10.0.0.0/8 (repeatable)",
        toRanges,
      )
      .option(
        "--store <address>",
        "store for calls of durable tools, so that they survive a restart, in the form sqlite:PATH",
      )
      .addOption(
        new Option(
          "--state <where>",
          "where calls of modern clients wait for answers: in this server (here), or encrypted in the client's requestState (sealed), for durable tools that allow it; sealed needs PARLEY_KEY",
        ).choices(["here", "sealed"]).default("here"),
      )
      .addOption(
        new Option("--keep <days>", "how long an abandoned call is kept")
          .argParser(toDays).default(7),
      )
      .addOption(
        new Option("--max-memory <MB>", "memory limit for all waiting calls together")
          .argParser(toMegabytes).default(256),
      )
      .addOption(
        new Option("--max-store <MB>", "size limit for all calls in the store together")
          .argParser(toMegabytes).default(1_024),
      )
      .addOption(limit())
      .addOption(
        new Option(
          "--public-url <address>",
          "URL at which browsers reach the server; default: its address on this machine",
        )
          .argParser(toAddress),
      )
      .option(
        "--auth-issuer <url>",
        "authorization server whose access tokens are accepted, such as https://login.example.com (repeatable)",
        collect,
      )
      .option(
        "--auth-audience <name>",
        "audience that tokens must be for; default: --public-url plus /mcp (repeatable)",
        collect,
      )
      .option("--auth-scope <scope>", "scope that every request needs (repeatable)", collect)
      .addOption(
        new Option(
          "--auth-profile <name>",
          "format of the issuer's access tokens; default: standard, which is RFC 9068",
        )
          .choices(["standard", "keycloak", "auth0", "entra", "okta", "cognito"]),
      )
      .option(
        "--auth-client-id <id>",
        "id of this server at the issuer, to sign in people who open its pages",
      )
      .option(
        "--auth-client-secret-file <file>",
        "file with the secret of this server at the issuer; also lets it ask about tokens that are not JWTs",
      )
      .option(
        "--token-file <file>",
        "file of static tokens for programs that cannot sign in; `parley token` creates them",
      )
      .option(
        "--audit-log <file>",
        "file to which a JSON line is added for each call: who called what, when, and how it ended",
      )
      .addOption(
        new Option(
          "--max-requests <number>",
          "requests per minute of one named caller; default: no limit",
        ).argParser(toCount),
      )
      .option("--allow-anonymous", "let everybody who can connect call tools, without signing in")
      .addOption(allowFormPasswords())
      .addOption(noFormPasswords())
      .addOption(doors())
      .addOption(askWait())
      .addOption(askPatience())
      .addOption(browser())
      .addOption(model())
      .addOption(modelUrl())
      .addOption(modelKeyFile())
      .addOption(modelByCaller())
      .option("--legacy-sse", "also serve the HTTP+SSE transport of revision 2024-11-05, at /sse")
      .addOption(
        new Option("--grace <seconds>", "how long running calls may continue after Ctrl-C")
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
      .summary("serve tools on stdin and stdout, for desktop apps")
      .description(
        "Serves tools to one client on stdin and stdout. Claude Desktop, VS Code, Cursor and other apps start it themselves; `parley install` configures them.",
      )
      .argument("[module...]", MODULES)
      .addOption(config())
      .addOption(serverName())
      .addOption(serverVersion())
      .addOption(instructions())
      .addOption(limit())
      .addOption(allowFormPasswords())
      .addOption(noFormPasswords())
      .addOption(doors())
      .addOption(askWait())
      .addOption(askPatience())
      .addOption(browser())
      .addOption(model())
      .addOption(modelUrl())
      .addOption(modelKeyFile())
      .addOption(modelByCaller())
      .addOption(logLevel("warning"))
      .addOption(logFormat())
      .action(async (modules, options) => {
        const { stdio } = await import("./commands/stdio.ts");
        await operate(() => stdio(modules, options, environment));
      });
  },

  tools(program, { finish, environment }) {
    program.command("tools")
      .summary("list the tools, their parameters and their questions")
      .description(
        "Lists the tools with their parameters, the questions they may ask, and the client features they need.",
      )
      .argument("[module...]", MODULES)
      .addOption(config())
      .option("--json", "print JSON")
      .action(async (modules, options) => {
        const { tools } = await import("./commands/tools.ts");
        await finish(tools(modules, options, environment));
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
      .addOption(new Option("--own-model <name>").hideHelp())
      .addOption(modelUrl().hideHelp())
      .addOption(modelKeyFile().hideHelp())
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
        "Prints the stored calls and sessions of one caller as JSON lines, or erases them. Stop the server first.",
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

  doctor(program, { operate, environment }) {
    program.command("doctor")
      .summary("check a server or this machine, and say what to fix")
      .description(
        "Checks a server from outside, through its proxies: TLS, metadata, CORS, streams, clocks. Without a URL, checks what a server would start with on this machine. Exits with 1 if there is a problem.",
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
      .addOption(config())
      .option("--store <address>", "store to check on this machine, in the form sqlite:PATH")
      .option("--token-file <file>", "file of static tokens to check on this machine")
      .addOption(new Option("--auth-client-secret-file <file>").hideHelp())
      .addOption(new Option("--own-model <name>").hideHelp())
      .addOption(modelUrl().hideHelp())
      .addOption(modelKeyFile().hideHelp())
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

function serverName(): Option {
  return new Option("--server-name <name>", "name of the server, for clients; default: parley");
}

function serverVersion(): Option {
  return new Option("--server-version <version>", "version of the server; default: that of Parley");
}

function instructions(): Option {
  return new Option("--instructions <text>", "tells the model how to use the server");
}

function limit(): Option {
  return new Option(
    "--limit <name=number>",
    "another limit of the server, such as maxBody=1000000 (repeatable)",
  ).argParser(toLimits);
}

function model(): Option {
  return new Option(
    "--model <name>",
    "model of the server, as anthropic:NAME, openai:NAME, ollama:NAME or openai-compatible:NAME",
  );
}

function modelUrl(): Option {
  return new Option("--model-url <address>", "base URL of the model's API").argParser(toAddress);
}

function modelKeyFile(): Option {
  return new Option("--model-key-file <file>", "file with the key of the model's API");
}

function logLevel(otherwise: typeof LOG_LEVELS[number]): Option {
  return new Option("--log-level <level>", "lowest level of messages to log on stderr")
    .choices(LOG_LEVELS).default(otherwise);
}

function allowFormPasswords(): Option {
  return new Option(
    "--allow-form-passwords",
    "let forms ask for passwords, although the client can read them",
  );
}

/** Accepted for compatibility. It has no effect; using it logs a warning. */
function noFormPasswords(): Option {
  return new Option("--no-form-passwords").hideHelp();
}

function doors(): Option {
  return new Option(
    "--doors <list>",
    "where tools may ask the person: form, app, page, model; default: all",
  ).argParser(toDoors);
}

function askWait(): Option {
  return new Option("--ask-wait <seconds>", "how long continue_call waits for the person")
    .argParser(toSeconds).default(20);
}

function askPatience(): Option {
  return new Option(
    "--ask-patience <seconds>",
    "how long a form may stay unanswered before a page is opened beside it; default: forever",
  ).argParser(toSeconds);
}

function browser(): Option {
  return new Option(
    "--browser <when>",
    "open pages that ask the person in a browser of this machine",
  ).choices(["auto", "always", "never"]).default("auto");
}

function modelByCaller(): Option {
  return new Option(
    "--model-by-caller",
    "let the model that called a tool answer its samples, if there is no other model",
  );
}

function toDoors(text: string, before: readonly string[] = []): string[] {
  const doors = text.split(",").map((door) => door.trim());
  if (doors.every((door) => ["form", "app", "page", "model"].includes(door))) {
    return [...before, ...doors];
  }
  throw new InvalidArgumentError("It must be a list of form, app, page and model.");
}

function logFormat(): Option {
  return new Option("--log-format <format>", "format of the log").choices(LOG_FORMATS)
    .default("text");
}

function toPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a number from 0 to 65535.");
}

function toRanges(text: string, before: readonly string[] = []): string[] {
  if (parseRange(text)) return [...before, text];
  throw new InvalidArgumentError("It must be an IP address or a range such as 10.0.0.0/8.");
}

function toAddress(text: string): string {
  const { protocol, href } = URL.parse(text) ?? {};
  if (href !== undefined && (protocol === "http:" || protocol === "https:")) return href;
  throw new InvalidArgumentError("It must be a URL such as https://example.com.");
}

function toOrigin(text: string): string {
  return new URL(toAddress(text)).origin;
}

function toDocumentAddress(text: string): string {
  const { protocol, pathname = "/", href } = URL.parse(text) ?? {};
  if (href !== undefined && protocol === "https:" && pathname !== "/") return href;
  throw new InvalidArgumentError("It must be a URL such as https://example.com.");
}

function toCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1) return count;
  throw new InvalidArgumentError("It must be a number, 1 or more.");
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("It must be a number of seconds, up to 3600.");
}

function toMegabytes(text: string): number {
  const megabytes = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && megabytes >= 1 && megabytes <= 1e9) return megabytes;
  throw new InvalidArgumentError("It must be a number of megabytes, 1 or more.");
}

function toLimits(
  text: string,
  before: { readonly [name: string]: number } = {},
): { [name: string]: number } {
  const [, name = "", digits] = /^(\w+)=(\d+)$/.exec(text) ?? [];
  if (digits !== undefined && Number(digits) > 0 && Number(digits) <= Number.MAX_SAFE_INTEGER) {
    return { ...before, [name]: Number(digits) };
  }
  throw new InvalidArgumentError("It must be a name and a number, such as maxBody=1000000.");
}

function toDays(text: string): number {
  const days = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && days > 0 && days <= 3_650) return days;
  throw new InvalidArgumentError("It must be a number of days, up to 3650.");
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
