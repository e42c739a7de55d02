/** Shared by the tests of the SQLite store. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync } from "node:fs";
import process from "node:process";
import { type Operation, resource } from "effection";
import { StoreError } from "../../../src/model/errors.ts";
import type { ToolSessionEvent } from "../../../src/model/events.ts";
import {
  openSqlite,
  SqliteClientSessionStore,
  type SqliteStores,
  SqliteToolSessionStore,
} from "../../../src/store/sqlite/stores.ts";
import { type Connection, SqliteFile } from "../../../src/store/sqlite/file.ts";
import type { ToolSessionEntry } from "../../../src/store/types.ts";
import { root } from "../../harness/files.ts";
import { currentRuntime, useRuntime } from "../../harness/toolchain.ts";

export const entry = (id: string, epoch = 1): ToolSessionEntry => ({
  id,
  toolName: "t",
  params: { a: 1 },
  createdAt: 0,
  epoch,
});

export const event = (lsn: number, message = ""): ToolSessionEvent => ({
  type: "progress",
  progress: lsn,
  lsn,
  message,
});

export const events = (from: number, to: number, message = ""): ToolSessionEvent[] =>
  Array.from({ length: to - from + 1 }, (_, i) => event(from + i, message));

/** Opens a file, and closes it with the test. */
export function useStores(path: string): Operation<SqliteStores> {
  return resource(function* (provide) {
    const stores = openSqlite(path);
    try {
      yield* provide(stores);
    } finally {
      stores.close();
    }
  });
}

/** The same, with something between the store and the file. */
export function useStoresThrough(
  path: string,
  through: (db: Connection) => Connection,
): Operation<SqliteStores> {
  return resource(function* (provide) {
    const file = new SqliteFile(path, "full", through);
    try {
      yield* provide({
        sessions: new SqliteToolSessionStore(file),
        clients: new SqliteClientSessionStore(file),
        overwriteDeleted: () => file.overwriteDeleted(),
        close: () => file.close(),
      });
    } finally {
      file.close();
    }
  });
}

/** The error of an operation, or undefined if it succeeds. */
export function* failure(body: () => Operation<unknown>): Operation<Error | undefined> {
  try {
    yield* body();
    return undefined;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** Opens a file. Returns the stores, or the StoreError that refused it; other errors are thrown. */
export function tryOpen(path: string, busyTimeout?: number): SqliteStores | StoreError {
  try {
    return openSqlite(path, undefined, busyTimeout);
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}

/** Copies a file and the files beside it, as a crash would leave them. */
export function copyStore(from: string, to: string): void {
  for (const end of ["", "-wal"]) {
    if (existsSync(from + end)) copyFileSync(from + end, to + end);
  }
}

/** A child process, under the runtime that runs the tests. */
export interface Child {
  /** The next line that it prints; undefined once it has ended. */
  line(): Promise<string | undefined>;
  /** Sends it a line. */
  tell(line: string): void;
  /** Kills it, and waits until it is gone. */
  kill(): Promise<void>;
  /** Waits until it has ended by itself, and returns its exit code. */
  ended(): Promise<number | null>;
}

/** Starts a module of tests/store/sqlite; `before` is a command that runs it. */
export function useChild(
  module: string,
  args: readonly string[],
  before: readonly string[] = [],
): Operation<Child> {
  return resource(function* (provide) {
    const name = currentRuntime();
    const run = name === "deno" ? ["run", "-A", "--no-check"] : ["run"];
    const command = [
      ...before,
      useRuntime(name).path,
      ...run,
      `tests/store/sqlite/${module}`,
      ...args,
    ];
    const child = spawn(command[0]!, command.slice(1), {
      cwd: root,
      stdio: ["pipe", "pipe", "inherit"],
      env: process.env,
    });
    // Not "close": that waits until somebody has read the rest of its output.
    const exited = once(child, "exit");
    // It may be gone before it has read its input.
    child.stdin.on("error", () => {});
    const lines = linesOf(child.stdout.setEncoding("utf8"));
    try {
      yield* provide({
        line: async () => (await lines.next()).value,
        tell: (line) => void child.stdin.write(`${line}\n`),
        kill: async () => {
          child.kill("SIGKILL");
          await exited;
        },
        ended: async () => (await exited)[0],
      });
    } finally {
      child.kill("SIGKILL");
    }
  });
}

/** Whole lines only: a last line without an end was cut off. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}
