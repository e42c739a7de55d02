/** A server on stdio opens its page in the browser of the person, as a program of its own. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type Operation, resource, until } from "effection";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { type Program, useProgram } from "../support/program.ts";
import { linkIn } from "./page.ts";

/** Resolves when a file has appeared in a folder. */
function useArrival(folder: string, name: string): Operation<Promise<string>> {
  return resource(function* (provide) {
    const { promise, resolve } = Promise.withResolvers<string>();
    const look = () => {
      if (existsSync(join(folder, name))) resolve(readFileSync(join(folder, name), "utf8"));
    };
    const watcher = watch(folder, look);
    try {
      look();
      yield* provide(promise);
    } finally {
      watcher.close();
    }
  });
}

function* callBooking(browser: "always" | "never", command: string): Operation<Program> {
  const env = { BROWSER: command };
  const program = yield* useProgram(["stdio", "--browser", browser], { env });
  const clientInfo = { name: "test", version: "1" };
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  program.send({ id: 1, method: "initialize", params: initialize });
  yield* until(program.says(/"id":1/, "stdout"));
  program.send(
    { method: "notifications/initialized" },
    {
      id: 2,
      method: "tools/call",
      params: { name: "book_flight", arguments: { from: "BER", to: "LIS" } },
    },
  );
  yield* until(program.says(/"id":2/, "stdout"));
  return program;
}

/** Writes a command that keeps the URL that it was asked to open. */
function browserIn(folder: string): string {
  const path = join(folder, "browser");
  const opened = join(folder, "opened");
  writeFileSync(
    path,
    `#!/bin/sh\nprintf %s "$1" > '${opened}.new' && mv '${opened}.new' '${opened}'\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

const withShell = it.when(process.platform !== "win32");

describe("parley stdio --browser", () => {
  withShell("opens the page of a question with the command in BROWSER", function* () {
    const folder = yield* useFolder();
    const arrival = yield* useArrival(folder, "opened");
    const program = yield* callBooking("always", `${browserIn(folder)} %s`);
    const opened = yield* until(arrival);
    const link = linkIn(program.stdout);
    assert.equal(opened, link);
    assert.equal((yield* until(fetch(opened))).status, 200);
  });

  withShell("opens nothing with never, and tries the next command of a list", function* () {
    const folder = yield* useFolder();
    const command = browserIn(folder);
    const quiet = yield* callBooking("never", command);
    linkIn(quiet.stdout);
    const arrival = yield* useArrival(folder, "opened");
    const program = yield* callBooking("always", `${folder}/missing:${command}`);
    assert.equal(yield* until(arrival), linkIn(program.stdout));
  });
});
