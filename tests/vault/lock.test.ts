import assert from "node:assert/strict";
import { all, until } from "effection";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { useProgram } from "../support/program.ts";
import { FileVault } from "../../src/vault/file-vault.ts";
import { withLock } from "../../src/vault/lock.ts";
import { VaultError } from "../../src/vault/errors.ts";
import { work, workerStart } from "./worker-run.ts";

describe("withLock()", () => {
  it("admits one at a time, in order, also after one that failed", async () => {
    await withFolder(async (path) => {
      const seen: string[] = [];
      const first = Promise.withResolvers<void>();
      const enter = (name: string, until?: Promise<void>) =>
        withLock(path, async () => {
          seen.push(`${name} in`);
          await until;
          seen.push(`${name} out`);
          if (name === "b") throw new Error("b failed");
        });
      const runs = [enter("a", first.promise), enter("b"), enter("c")];
      first.resolve();
      const outcomes = await Promise.allSettled(runs);
      assert.deepEqual(outcomes.map(({ status }) => status), [
        "fulfilled",
        "rejected",
        "fulfilled",
      ]);
      assert.deepEqual(seen, ["a in", "a out", "b in", "b out", "c in", "c out"]);
    });
  });

  it("fails if another holds it for too long, and can be taken once that has ended", async () => {
    await withFolder(async (path) => {
      const other = new DatabaseSync(path);
      other.exec("BEGIN IMMEDIATE");
      let entered = false;
      const attempt = withLock(path, () => Promise.resolve(entered = true), { patience: 50 });
      const error = await attempt.catch((error) => error);
      assert.ok(error instanceof VaultError && error.problem === "busy");
      assert.equal(entered, false);
      const waiting = withLock(path, () => Promise.resolve("in"));
      other.close();
      assert.equal(await waiting, "in");
      assert.equal(existsSync(`${path}-journal`), false);
    });
  });

  it("says what to do if the lock file is something else", async () => {
    await withFolder(async (path) => {
      writeFileSync(path, "not a lock ".repeat(1000));
      const error = await withLock(path, () => Promise.resolve()).catch((error) => error);
      assert.ok(error instanceof VaultError && error.problem === "damaged", `${error}`);
      assert.match(error.message, /delete that file/);
    });
  });
});

describe("two processes", () => {
  it("that write at once lose no change", function* () {
    const folder = yield* useFolder();
    const count = () => work({ folder, keyring: false }, ["count", "n", "40"]);
    yield* all([count(), count(), count()]);
    assert.equal(yield* until(new FileVault({ folder }).read("n")), "120 ");
  }, { within: 120_000 });

  it("keep everything that was acknowledged, and the lock, if one of them is killed", function* () {
    const folder = yield* useFolder();
    const vault = new FileVault({ folder, patience: 5_000 });
    for (const times of [1, 2, 5, 9]) {
      const args = [JSON.stringify({ folder, keyring: false }), "count", "n", "100000", "50000"];
      const worker = yield* useProgram(args, { start: workerStart() });
      yield* until(worker.says(new RegExp(`(?:\\d+\\n){${times}}`), "stdout"));
      worker.child.kill("SIGKILL");
      yield* until(worker.exit);
      const told = Number(worker.stdout.trimEnd().split("\n").at(-1));
      // At once: nobody has to wait until a lock is old enough.
      const text = yield* until(vault.update("n", (text) => ({ text, value: text })));
      const stored = Number(text?.split(" ")[0]);
      assert.equal(text, `${stored} ${"x".repeat(50_000)}`);
      assert.ok(stored >= told, `${stored} after ${told}`);
    }
  }, { within: 120_000 });
});

async function withFolder(body: (path: string) => Promise<void>): Promise<void> {
  const { mkdtemp, rm } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const folder = await mkdtemp(join(tmpdir(), "parley-test-"));
  try {
    await body(join(folder, "vault.lock"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("Vault.exclusively()", () => {
  it("runs one at a time, which can read and write", function* () {
    const folder = yield* useFolder();
    const [one, other] = [new FileVault({ folder }), new FileVault({ folder })];
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const first = one.exclusively("one", async () => {
      entered.resolve();
      await gate.promise;
      await one.update("doc", () => ({ text: "x", value: undefined }));
      order.push("first");
    });
    yield* until(entered.promise);
    const stop = new AbortController();
    const gone = other.exclusively("one", () => Promise.resolve(order.push("gone")), stop.signal)
      .then(() => false, () => true);
    stop.abort();
    const second = other.exclusively("one", () => Promise.resolve(order.push("second")));
    // Another name does not wait.
    yield* until(other.exclusively("two", () => Promise.resolve(order.push("other"))));
    gate.resolve();
    yield* until(Promise.all([first, second]));
    assert.equal(yield* until(gone), true);
    assert.deepEqual(order, ["other", "first", "second"]);
    assert.equal(yield* until(other.read("doc")), "x");
  });

  it("stops waiting for another process when it is told to", function* () {
    const folder = yield* useFolder();
    const vault = new FileVault({ folder });
    yield* until(vault.exclusively("one", () => Promise.resolve()));
    // Another connection to the file has the lock, as another process would.
    const holder = new DatabaseSync(join(folder, "one.lock"));
    holder.exec("PRAGMA journal_mode = OFF; BEGIN IMMEDIATE");
    try {
      const stop = new AbortController();
      const waiting = vault.exclusively("one", () => Promise.resolve(), stop.signal)
        .then(() => "entered", () => "stopped");
      stop.abort();
      assert.equal(yield* until(waiting), "stopped");
    } finally {
      holder.close();
    }
  });
});
