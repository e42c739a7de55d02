/**
 * Settings: each is a flag, an environment variable, and a key of the config file. A flag takes
 * precedence over the variable, the variable over the file, and the file over the default.
 *
 * `server-flags.ts` defines the settings.
 */
import { type Command, InvalidArgumentError } from "commander";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import type { Environment } from "./environment.ts";
import { Problem, USAGE } from "./problem.ts";
import { SettingOption } from "./server-flags.ts";
import { rule } from "./usage.ts";

/** A setting from the environment or a file, and where it is from, for messages. */
interface Given {
  readonly texts: readonly string[];
  readonly place: string;
}

/** Sets the options of a command that no flag has set. */
export async function applySettings(command: Command, environment: Environment): Promise<void> {
  const config = await configFor(command, environment);
  for (const option of command.options) {
    if (!(option instanceof SettingOption)) continue;
    const name = option.attributeName();
    const source = command.getOptionValueSource(name);
    if (source === "cli" || source === "env") continue;
    const { key, kind, variable } = option;
    const text = process.env[variable];
    if (text) {
      const texts = kind === "list" || kind === "numbers" ? text.split(",") : [text];
      const given = { texts: texts.map((one) => one.trim()), place: `the value of ${variable}` };
      command.setOptionValueWithSource(name, valueOf(option, given), "env");
      continue;
    }
    const texts = config?.textsOf(option);
    if (!texts) continue;
    const given = { texts, place: `"${key}" of ${config!.file}` };
    command.setOptionValueWithSource(name, valueOf(option, given), "config");
  }
  if (!config) return;
  // Tell the command which file was used: `parley install` writes the path into an app's
  // configuration.
  command.setOptionValueWithSource("config", config.file, "config");
  if (config.tools) useTools(command, config.tools);
}

function valueOf(option: SettingOption, { texts, place }: Given): unknown {
  if (option.isBoolean()) {
    const [text = ""] = texts;
    if (/^(?:true|1|false|0)$/.test(text)) return text === "true" || text === "1";
    throw wrong(place, "it must be true or false");
  }
  const parse = option.parseArg ?? ((text: string) => text);
  try {
    // Never quote a value: it may be a secret that is in the wrong place.
    return texts.reduce<unknown>((before, text) => parse(text, before as never), undefined);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw wrong(place, rule(error.message));
    throw error;
  }
}

function wrong(place: string, why: string): Problem {
  return new Problem(
    `Cannot use ${place}: ${why.replace(/\.$/, "")}; correct it, or remove it`,
    USAGE,
  );
}

/** Uses the tools of the config file, if the command line names none. */
function useTools(command: Command, tools: readonly string[]): void {
  const { registeredArguments, processedArgs } = command;
  const at = registeredArguments.findIndex((argument) => argument.name() === "module");
  if (at < 0 || (processedArgs[at] ?? []).length > 0) return;
  // In `parley call`, a path in place of the arguments is a module.
  const before = command.name() === "call" ? processedArgs[at - 1] : undefined;
  if (before !== undefined && !/^\s*[{["]/.test(before) && existsSync(before)) return;
  processedArgs[at] = tools;
}

// Functions that find and load the config file.

const NAMES = ["parley.config.ts", "parley.config.json"];

async function configFor(command: Command, environment: Environment) {
  const { config: named = process.env["PARLEY_CONFIG"], url } = command.opts();
  // A command that gets the URL of a server ignores the config file of this folder, which may be
  // code.
  const isRemote = url !== undefined ||
    (command.name() === "doctor" && command.args.length > 0);
  if (isRemote && !command.opts().config) return undefined;
  const file = named ? resolve(named) : found(process.cwd());
  if (file === undefined) return undefined;
  const { ConfigFile } = await import("./config-loader.ts");
  return await ConfigFile.load(file, environment, command.name() === "stdio");
}

function found(folder: string): string | undefined {
  const files = NAMES.map((name) => join(folder, name)).filter((file) => existsSync(file));
  if (files.length < 2) return files[0];
  throw new Problem(
    `Cannot choose a config file: ${folder} has ${NAMES.join(" and ")}; delete one of them`,
    USAGE,
  );
}
