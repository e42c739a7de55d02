/** `parley install`: adds the tools to the configuration of an app on this machine. */
import { resolve } from "node:path";
import { type Operation, scoped, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { selfCommand } from "../../platform/self.ts";
import type { Environment } from "../environment.ts";
import type { McpAppName } from "../mcp-app-names.ts";
import { Problem, USAGE } from "../problem.ts";
import { displayVariables } from "../terminal/desktop.ts";
import { readIfThere, replaceFile, withValue } from "./config-file.ts";
import { loadDefinitions } from "./load.ts";
import { type Machine, MCP_APPS, type McpApp, type ServerEntry, thisMachine } from "./mcp-apps.ts";
import { serverAddress, type ServerFlags, toolsOf, useServer } from "./remote-server.ts";

export interface InstallOptions extends ServerFlags {
  readonly name: string;
  readonly project?: boolean;
  readonly url?: string;
  readonly print?: boolean;
  readonly check?: boolean;
  /** The full path of the config file, if there is one. */
  readonly config?: string;
}

/** Installs the server. With `--check`, installs it only if it can be used. */
export function* checkedInstall(
  app: McpAppName,
  modules: readonly string[],
  options: InstallOptions,
  environment: Environment,
): Operation<number> {
  if (options.check) yield* checkServer(options, environment);
  return yield* until(install(app, modules, options, environment));
}

function checkServer(options: InstallOptions, environment: Environment): Operation<void> {
  const { url } = options;
  if (url === undefined) {
    throw new Problem("Cannot check the server: there is no address; add --url", USAGE);
  }
  return scoped(function* () {
    const server = yield* useServer(serverAddress(url), options, environment);
    const { length } = yield* toolsOf(server, url);
    environment.terminal.note(
      `The server at ${url} answers. It has ${length} ${length === 1 ? "tool" : "tools"}.`,
    );
  });
}

export async function install(
  app: McpAppName,
  modules: readonly string[],
  options: InstallOptions,
  environment: Environment,
  machine: Machine = thisMachine(),
  display = displayVariables(),
): Promise<number> {
  const { terminal } = environment;
  const host = MCP_APPS[app];
  // Load the modules now: an error here is easier to see than one in the app.
  if (options.url === undefined) await loadDefinitions(modules, environment);
  const entry = entryFor(host, modules, options, display);
  if (options.print) {
    terminal.note(`Add this to ${fileFor(host, options, machine)}:`);
    terminal.print(JSON.stringify({ [host.section]: { [options.name]: entry } }, null, 2));
    return 0;
  }
  const file = fileFor(host, options, machine);
  const before = readIfThere(file);
  const after = withValue(before, [host.section, options.name], entry, file);
  if (after === before) {
    terminal.note(`${host.title} is already configured: ${file} is unchanged.`);
    return 0;
  }
  const backup = write(file, after);
  terminal.note(`Added "${options.name}" for ${host.title} to ${file}.`);
  if (backup) terminal.note(`A backup of the previous file is in ${backup}.`);
  if (/[\\/]_npx[\\/]/.test(JSON.stringify(entry))) {
    terminal.note(
      "The entry points into npx's cache, which may be cleared. Compile Parley for a permanent path.",
    );
  }
  terminal.note(host.next);
  return 0;
}

function write(file: string, text: string): string | undefined {
  try {
    return replaceFile(file, text, new Date());
  } catch (error) {
    throw new Problem(
      `Cannot write ${file}: ${messageOf(error)}; use --print and add the entry by hand`,
    );
  }
}

function fileFor(host: McpApp, { project = false }: InstallOptions, machine: Machine): string {
  if (!project) return host.userFile(machine);
  if (host.projectFile !== undefined) return resolve(host.projectFile);
  throw new Problem(
    `Cannot install for one project: ${host.title} has no project configuration; remove --project`,
    USAGE,
  );
}

function entryFor(
  host: McpApp,
  modules: readonly string[],
  { url, config, project }: InstallOptions,
  display: Display,
): object {
  // Leave out the display in the file of a project, which may be shared with people on other
  // machines.
  const env = project ? {} : display;
  const entry = host.entry(url === undefined ? startedHere(modules, config, env) : { url });
  if (entry) return entry;
  throw new Problem(
    `Cannot add a URL to ${host.title}: its configuration file supports programs only; add the URL in its settings, under Connectors`,
    USAGE,
  );
}

type Display = ReturnType<typeof displayVariables>;

/** The command with which the app starts this program. */
function startedHere(
  modules: readonly string[],
  config: string | undefined,
  display: Display,
): ServerEntry {
  const { command, args } = selfCommand();
  const paths = modules.map((path) => resolve(path));
  // The app starts the program in another folder, where it would not find the config file.
  const settings = config === undefined ? [] : ["--config", config];
  // Apps start servers without the variables of the desktop, but the server needs them to open a
  // browser.
  const env = Object.keys(display).length > 0 ? { env: display } : {};
  return { command, args: [...args, "stdio", ...paths, ...settings], ...env };
}
