/** Loads tools, prompts, resources and skills from modules. */
import { readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../lib/message-of.ts";
import { registerOwnModules } from "../../platform/own-modules.ts";
import type { Served } from "../../tool/skill.ts";
import { isServed } from "../definitions.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../problem.ts";

const SOURCE = /\.(?:[cm]?[jt]s|[jt]sx)$/;
/** Files in a folder of tools that are not tools: type declarations, tests and benchmarks. */
const ASIDE = /(?:\.d\.[cm]?ts|[._](?:test|spec|bench)\.[cm]?[jt]sx?)$/;

/** Loads the definitions of the named modules, or those that ship with the program. */
export async function loadDefinitions(
  paths: readonly string[],
  { shipped, own }: Pick<Environment, "shipped" | "own">,
): Promise<Served[]> {
  if (paths.length === 0) return [...await shipped()];
  registerOwnModules(own);
  const found = new Map<string, { definition: Served; file: string }>();
  for (const file of paths.flatMap(modulesAt)) {
    for (const definition of await definitionsIn(file)) {
      const key = `${definition.kind} "${definition.name}"`;
      const other = found.get(key);
      if (other && other.definition !== definition) {
        throw new Problem(
          `Cannot serve ${key} of ${file}: ${other.file} defines the same name; rename one of them`,
        );
      }
      found.set(key, { definition, file });
    }
  }
  return [...found.values()].map(({ definition }) => definition);
}

/** True if a file is a TypeScript or JavaScript module, by its extension. */
export function isModule(name: string): boolean {
  return SOURCE.test(name);
}

/** Returns the path itself if it is a file, or the modules in it if it is a folder. */
export function modulesAt(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) {
    throw new Problem(`Cannot load "${path}": there is no such file or folder; check the path`);
  }
  if (!stat.isDirectory()) return [path];
  const files = readdirSync(path).filter((name) => isModule(name) && !ASIDE.test(name)).sort();
  if (files.length > 0) return files.map((name) => join(path, name));
  throw new Problem(
    `Cannot load "${path}": the folder contains no TypeScript or JavaScript files; add a tool to it`,
  );
}

async function definitionsIn(file: string): Promise<Served[]> {
  let exported: object;
  try {
    exported = await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    throw new Problem(
      `Cannot load "${file}": ${messageOf(error)}${
        placeOf(error, file)
      }; fix the error in the file`,
    );
  }
  const values = Object.values(exported).flat();
  const definitions = new Set(values.filter(isServed));
  if (definitions.size > 0) return [...definitions];
  const wayOut = values.some(isBuilder)
    ? "end each tool with .execute(…) or .handoff(…)"
    : "export what createMcpTool(…) returns";
  throw new Problem(
    `Cannot serve "${file}": it exports no tool, prompt, resource or skill; ${wayOut}`,
  );
}

/** The line in the file that caused the error, if the runtime reports it. */
function placeOf(error: unknown, file: string): string {
  const { position, stack = "", message = "" } = error as {
    position?: { line: number; column: number } | null;
    stack?: string;
    message?: string;
  };
  if (position) return ` (line ${position.line}, column ${position.column})`;
  const said = `${message}\n${stack}`;
  const start = said.indexOf(`${basename(file)}:`) + basename(file).length;
  const [, line, column] = /^:(\d+):(\d+)/.exec(said.slice(start)) ?? [];
  return line ? ` (line ${line}, column ${column})` : "";
}

function isBuilder(value: unknown): boolean {
  return typeof value === "object" && value !== null && "execute" in value &&
    "parameters" in value;
}
