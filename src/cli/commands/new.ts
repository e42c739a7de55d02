/** `parley new`: creates a small project with one tool and its test, ready to run. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { OwnPackages } from "../../platform/own-packages.ts";
import { Problem, USAGE } from "../problem.ts";
import { projectFiles } from "./project-files.ts";
import type { Environment } from "../environment.ts";

const NAME = /^[a-z0-9][a-z0-9._-]*$/;
/** The package of Parley. It is copied into the project, because it is not in a registry yet. */
const OURS = "parley-mcp";
const VENDOR = "vendor";

export async function createProject(
  name: string,
  { terminal, version, packages }: Environment,
): Promise<number> {
  if (!NAME.test(name)) {
    throw new Problem(
      `Cannot create "${name}": it is not a valid package name; use lower-case letters, digits, dots and dashes, as in my-tools`,
      USAGE,
    );
  }
  const folder = resolve(name);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Problem(
      `Cannot create "${name}": the folder exists and is not empty; choose another name`,
    );
  }
  const own = await packages();
  const ours = own.type === "folders" ? own.folders[OURS]! : `./${VENDOR}/${OURS}`;
  write(folder, projectFiles(name, version, ours));
  install(folder, own);
  const { bold, cyan } = terminal.out;
  terminal.print([
    `${bold(name)} is ready, with one tool in tools/greet.ts:`,
    "",
    `  cd ${name}`,
    `  ${cyan("parley test")}                           run its test`,
    `  ${cyan("parley call greet tools")}               call it here`,
    `  ${cyan("parley serve tools")}                    serve it over HTTP`,
    `  ${cyan("parley install claude-desktop tools")}   or claude-code, vscode, cursor`,
  ].join("\n"));
  return 0;
}

function write(folder: string, files: { readonly [path: string]: string }): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Puts the packages into `node_modules`, where all runtimes and editors find them. */
function install(folder: string, own: OwnPackages): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  if (own.type === "folders") {
    for (const [name, target] of Object.entries(own.folders)) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      link(target, join(modules, name));
    }
    return;
  }
  for (const [path, text] of Object.entries(own.files)) {
    const isOurs = path.startsWith(`${OURS}/`);
    write(isOurs ? join(folder, VENDOR) : modules, { [path]: text });
  }
  link(join("..", VENDOR, OURS), join(modules, OURS));
}

function link(target: string, path: string): void {
  symlinkSync(target, path, process.platform === "win32" ? "junction" : "dir");
}
