/**
 * The checks of `parley doctor` without a URL: the runtime, the store, the keys and the model of
 * this machine.
 */
import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { Sealer } from "../../lib/sealer.ts";
import { messageOf } from "../../lib/message-of.ts";
import { StoreError } from "../../model/errors.ts";
import { isInUse } from "../../store/sqlite/errors.ts";
import { inspectStore, isWritable } from "../../store/sqlite/inspect.ts";
import { keysIn, SHORTEST_KEY } from "../commands/key.ts";
import { type ModelFlags, ownModel } from "../commands/model.ts";
import { type Finding, splitMessage } from "./probe.ts";

export interface LocalOptions {
  /** The version of this program. */
  readonly version: string;
  /** The address of the store, as `sqlite:PATH`. */
  readonly store?: string | undefined;
  /** Files with secrets. */
  readonly secretFiles?: readonly string[];
  /** The flags for the model. Environment variables are used as well. */
  readonly model?: ModelFlags;
  readonly env: { readonly [name: string]: string | undefined };
}

const NEW_KEY = 'generate a key with "openssl rand -base64 32"';

export function* localFindings(options: LocalOptions): Iterable<Finding> {
  yield versionFinding(options.version);
  const keys = keysIn(options.env.PARLEY_KEY);
  const short = keys.some((key) => key.length < SHORTEST_KEY);
  yield keyFinding(keys, short, options.store !== undefined);
  yield modelFinding(options);
  if (options.store !== undefined) yield* storeFindings(options.store, short ? [] : keys);
  for (const file of options.secretFiles ?? []) yield secretFileFinding(file);
}

/** The runtimes that Parley is tested on, with the oldest version. */
const RUNTIMES = [["bun", 1, 4], ["deno", 2, 9], ["node", 22, 19]] as const;

export function versionFinding(
  version: string,
  versions: { readonly [name: string]: string | undefined } = process.versions,
): Finding {
  // Bun and Deno also report a version of Node.
  const [name, major, minor] = RUNTIMES.find(([name]) => versions[name] !== undefined) ??
    RUNTIMES[2];
  const theirs = versions[name] ?? "0";
  const message = `Parley ${version} runs on ${name} ${theirs}`;
  const [first = 0, second = 0] = theirs.split(".").map(Number);
  if (first > major || (first === major && second >= minor)) {
    return { check: "versions", status: "ok", message };
  }
  return {
    check: "versions",
    status: "warning",
    message: `${message}, which is older than ${major}.${minor}`,
    remedy: `install a newer version of ${name}`,
  };
}

function keyFinding(keys: readonly string[], isShort: boolean, hasStore: boolean): Finding {
  const check = "key";
  if (isShort) {
    const message = `A key in PARLEY_KEY is shorter than ${SHORTEST_KEY} characters`;
    return { check, status: "problem", message, remedy: NEW_KEY };
  }
  if (keys.length > 0) {
    const count = keys.length === 1 ? "a key" : `${keys.length} keys`;
    return { check, status: "ok", message: `PARLEY_KEY contains ${count}` };
  }
  if (hasStore) {
    return { check, status: "ok", message: "PARLEY_KEY is not set: the store has its own key" };
  }
  return {
    check,
    status: "warning",
    message: "PARLEY_KEY is not set: waiting calls end when the server stops",
    remedy: `for production, ${NEW_KEY} and set PARLEY_KEY, or use --store`,
  };
}

function modelFinding({ model = {}, env }: LocalOptions): Finding {
  try {
    const provider = ownModel(model, env);
    const message = provider
      ? `The server's own model is ${provider.name}`
      : "The server has no model of its own";
    return { check: "model", status: "ok", message };
  } catch (error) {
    return { check: "model", status: "problem", ...splitMessage(messageOf(error)) };
  }
}

// Checks of the store and its key.

function* storeFindings(address: string, keys: readonly string[]): Iterable<Finding> {
  const check = "store";
  const path = /^sqlite:(.+)$/.exec(address)?.[1];
  if (path === undefined) {
    yield {
      check,
      status: "problem",
      message: `"${address}" is not the address of a store`,
      remedy: "write it as sqlite:PATH",
    };
    return;
  }
  if (path === ":memory:") {
    yield {
      check,
      status: "warning",
      message: "The store is in memory: a restart loses its calls",
    };
    return;
  }
  const file = resolve(path);
  if (!isWritable(file, dirname(file))) {
    yield {
      check,
      status: "problem",
      message: `This user cannot write to ${file} or its folder`,
      remedy: "create the folder, or change its permissions",
    };
    return;
  }
  if (!fs.existsSync(file)) {
    yield {
      check,
      status: "ok",
      message: `There is no store at ${file} yet: a server creates it when it starts`,
    };
    return;
  }
  try {
    const { format, newest, calls, keyIds } = inspectStore(file);
    const older = format < newest ? `, which a server migrates to ${newest} when it starts` : "";
    yield {
      check,
      status: "ok",
      message: `The store ${file} is intact: ${calls} calls, format ${format}${older}`,
    };
    yield storeKeyFinding(file, keys, keyIds, calls);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (isInUse(error)) {
      yield {
        check,
        status: "skipped",
        message: `A server is using ${file}, so its content cannot be checked`,
        remedy: "run doctor with the URL of that server, or stop the server",
      };
    } else yield { check, status: "problem", ...splitMessage(error.message) };
  }
}

function storeKeyFinding(
  file: string,
  given: readonly string[],
  needed: readonly string[],
  calls: number,
): Finding {
  const check = "store key";
  const beside = `${file}.key`;
  let stored: string[] = [];
  if (fs.existsSync(beside)) {
    try {
      stored = [fs.readFileSync(beside, "utf8").trim()].filter((key) => key.length >= 32);
    } catch (error) {
      return {
        check,
        status: "problem",
        message: `The key file ${beside} cannot be read: ${messageOf(error)}`,
        remedy: "let the user who starts the server read it",
      };
    }
    if (stored.length === 0) {
      return {
        check,
        status: "problem",
        message: `The key file ${beside} does not contain a key`,
        remedy: "restore it from a backup",
      };
    }
    if (process.platform !== "win32" && (fs.statSync(beside).mode & 0o077) !== 0) {
      return {
        check,
        status: "problem",
        message: `Other users can read the key file ${beside}`,
        remedy: `run: chmod 600 ${beside}`,
      };
    }
  }
  const keys = [...given, ...stored];
  if (keys.length === 0) {
    if (calls === 0) {
      return { check, status: "ok", message: "A server creates the key when it starts" };
    }
    return {
      check,
      status: "problem",
      message: `The key file ${beside} is missing, and waiting calls cannot continue without it`,
      remedy: "restore it from a backup, or set PARLEY_KEY to the key",
    };
  }
  const { keyIds } = new Sealer(...keys);
  const missing = needed.filter((id) => !keyIds.includes(id));
  if (calls > 0 && needed.length === 0) {
    const message =
      "The store does not say which key it needs: an earlier version of Parley wrote it";
    return { check, status: "skipped", message };
  }
  if (missing.length === 0) {
    return { check, status: "ok", message: "The key is the one that the store needs" };
  }
  return {
    check,
    status: "problem",
    message: `The store was written with another key (id ${missing.join(", id ")})`,
    remedy: `add that key to PARLEY_KEY after a comma, or restore ${beside}`,
  };
}

// Checks of files with secrets.

function secretFileFinding(file: string): Finding {
  const check = "secret files";
  try {
    const { mode } = fs.statSync(file);
    fs.accessSync(file, fs.constants.R_OK);
    if (process.platform === "win32" || (mode & 0o077) === 0) {
      return { check, status: "ok", message: `Only its owner can read ${file}` };
    }
    return {
      check,
      status: "warning",
      message: `Other users can read ${file}`,
      remedy: `run: chmod 600 ${file}`,
    };
  } catch (error) {
    return {
      check,
      status: "problem",
      message: `The file ${file} is not readable: ${messageOf(error)}`,
      remedy: "check the path and its permissions",
    };
  }
}
