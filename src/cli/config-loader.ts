/** Loads a config file and checks its keys and the types of its values. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isObject } from "../lib/json.ts";
import { nearest } from "../lib/nearest.ts";
import { messageOf } from "../lib/message-of.ts";
import { registerOwnModules } from "../platform/own-modules.ts";
import { claimStdout } from "../platform/process-stdio.ts";
import type { Environment } from "./environment.ts";
import { Problem, USAGE } from "./problem.ts";
import { CONFIG_KEYS, type SettingOption } from "./server-flags.ts";

const KEYS: readonly string[] = ["tools", ...CONFIG_KEYS];
const GROUPS = new Set(KEYS.filter((key) => key.includes(".")).map((key) => key.split(".")[0]!));

export class ConfigFile {
  readonly file: string;
  readonly #values: ReadonlyMap<string, unknown>;

  private constructor(file: string, content: { readonly [key: string]: unknown }) {
    this.file = file;
    this.#values = new Map(flattened(content, file));
  }

  /** `isStdio` is true if stdout belongs to the protocol, so that the file must not print to it. */
  static async load(
    file: string,
    { own }: Pick<Environment, "own">,
    isStdio: boolean,
  ): Promise<ConfigFile> {
    if (!existsSync(file)) {
      throw new Problem(`Cannot read the config "${file}": there is no such file; check the path`);
    }
    if (isStdio) claimStdout();
    let content: unknown;
    try {
      if (extname(file) === ".json") content = JSON.parse(readFileSync(file, "utf8"));
      else {
        registerOwnModules(own);
        content = (await import(pathToFileURL(file).href)).default;
      }
    } catch (error) {
      throw new Problem(
        `Cannot read the config "${file}": ${messageOf(error)}; fix the error in the file`,
      );
    }
    if (isObject(content)) return new ConfigFile(file, content);
    throw new Problem(
      `Cannot use the config "${file}": it contains no object; ${
        extname(file) === ".json"
          ? "write the settings in braces"
          : "write export default defineConfig({ … })"
      }`,
      USAGE,
    );
  }

  /** The paths of the tools. Undefined if the file has none. */
  get tools(): readonly string[] | undefined {
    const paths = this.#values.get("tools");
    if (paths === undefined) return undefined;
    if (!isTexts(paths)) throw this.#wrong("tools", "an array of strings", paths);
    return paths.map((path) => this.#path(path));
  }

  /**
   * The values of a setting, as texts like on the command line. Undefined if the file does not set
   * it.
   */
  textsOf({ key, kind }: SettingOption): readonly string[] | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    switch (kind) {
      case "boolean":
        if (typeof value === "boolean") return [String(value)];
        throw this.#wrong(key, "true or false", value);
      case "number":
        if (typeof value === "number") return [String(value)];
        throw this.#wrong(key, "a number", value);
      case "list":
        if (isTexts(value)) return value;
        throw this.#wrong(key, "an array of strings", value);
      case "numbers":
        if (!isObject(value)) throw this.#wrong(key, "an object", value);
        return Object.entries(value).map(([name, number]) => {
          if (typeof number === "number") return `${name}=${number}`;
          throw this.#wrong(`${key}.${name}`, "a number", number);
        });
      case "file":
      case "text":
        if (typeof value !== "string") throw this.#wrong(key, "a string", value);
        if (key === "store") return [value.replace(/^sqlite:(?!:memory:)(.+)$/, this.#storePath)];
        return [kind === "file" ? this.#path(value) : value];
    }
  }

  /** Paths are relative to the file, so that the command works in every folder. */
  #path(path: string): string {
    return resolve(dirname(this.file), path);
  }

  readonly #storePath = (_: string, path: string) => `sqlite:${this.#path(path)}`;

  #wrong(key: string, expected: string, value: unknown): Problem {
    const type = value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
    return new Problem(
      `Cannot use "${key}" of ${this.file}: it is ${
        type === "null" || type === "an array" ? type : `of type ${type}`
      }, and must be ${expected}; correct it, or remove it`,
      USAGE,
    );
  }
}

/** The values by their full keys, such as `auth.issuers`. Throws if a key is unknown. */
function* flattened(
  content: { readonly [key: string]: unknown },
  file: string,
  prefix = "",
): Iterable<[string, unknown]> {
  for (const [name, value] of Object.entries(content)) {
    const key = `${prefix}${name}`;
    if (KEYS.includes(key)) yield [key, value];
    else if (prefix === "" && GROUPS.has(key)) {
      if (isObject(value)) yield* flattened(value, file, `${key}.`);
      else if (value !== undefined) throw unknownKey(key, file, "write its settings in braces");
    } // Editors look for the schema of a JSON file under this key.
    else if (key !== "$schema") throw unknownKey(key, file, wayOut(key, prefix));
  }
}

function unknownKey(key: string, file: string, next: string): Problem {
  return new Problem(`Cannot use "${key}" of ${file}: there is no such setting; ${next}`, USAGE);
}

function wayOut(key: string, prefix: string): string {
  if (/secret|password|token|key$/i.test(key)) {
    return "keep secrets in an environment variable or a file of their own";
  }
  const known = KEYS.filter((one) => one.startsWith(prefix) && (prefix || !one.includes(".")));
  const names = prefix === "" ? [...known, ...GROUPS] : known;
  const meant = nearest(key, names) ?? elsewhere(key);
  return meant === undefined ? `use one of ${names.join(", ")}` : `did you mean "${meant}"?`;
}

/** The full key of a setting that is in the wrong group, such as `issuers` outside of `auth`. */
function elsewhere(key: string): string | undefined {
  const name = key.split(".").at(-1)!;
  return KEYS.find((one) => one.split(".").at(-1) === name);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
