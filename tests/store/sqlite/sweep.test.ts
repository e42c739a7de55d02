import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { all, type Operation, spawn } from "effection";
import type { SQLInputValue } from "node:sqlite";
import type { Connection } from "../../../src/store/sqlite/file.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { entry, event, events, useStores, useStoresThrough } from "./kit.ts";

const sizeOf = (path: string) => existsSync(path) ? statSync(path).size : 0;

/** Counts the commits; `onCommit` is called for each. */
function counting(onCommit: () => void): (db: Connection) => Connection {
  return (db) => ({
    exec: (sql) => {
      db.exec(sql);
      if (sql === "COMMIT") onCommit();
    },
    prepare: (sql) => db.prepare(sql),
    close: () => db.close(),
  });
}

/** Makes events seem `times` as long as they are, because long ones take long to write. */
function lengthened(times: number, db: Connection): Connection {
  return {
    ...db,
    prepare(sql) {
      const statement = db.prepare(sql);
      if (!sql.includes("octet_length(event) AS size")) return statement;
      const all = (...values: SQLInputValue[]) =>
        statement.all(...values).map((row) => ({ ...row, size: times * Number(row.size) }));
      return Object.assign(Object.create(statement), { all });
    },
  };
}

describe("SqliteToolSessionStore.sweep()", () => {
  it("returns the space of the file and of its log to the disk", function* () {
    const path = join(yield* useFolder(), "store.db");
    const { sessions } = yield* useStores(path);
    yield* sessions.set("kept", entry("kept"));
    yield* sessions.append("kept", events(1, 50), { afterLSN: 0, epoch: 1 });
    const empty = sizeOf(path) + sizeOf(`${path}-wal`);
    const ids = Array.from({ length: 1_500 }, (_, i) => `old${i}`);
    yield* all(ids.map((id) => sessions.set(id, { ...entry(id), expiresAt: 1 })));
    for (const message of ["x".repeat(500), "y".repeat(3_000)]) {
      const lsn = message.startsWith("x") ? 1 : 2;
      yield* all(
        ids.map((id) =>
          sessions.append(id, [event(lsn, message)], { afterLSN: lsn - 1, epoch: 1 })
        ),
      );
    }
    const full = sizeOf(path) + sizeOf(`${path}-wal`);
    assert.ok(full > 5_000_000, `${full}`);
    assert.equal(yield* sessions.sweep(2), 1_000);
    assert.equal(yield* sessions.sweep(2), 500);
    assert.equal(yield* sessions.sweep(2), 0);
    const after = sizeOf(path) + sizeOf(`${path}-wal`);
    assert.ok(after < empty + 600_000, `${empty} bytes, then ${full}, then ${after}`);
    assert.deepEqual(yield* sessions.read("kept"), events(1, 50));
  });

  it("lets others write in between, however many events there are to remove", function* () {
    const path = join(yield* useFolder(), "store.db");
    let commits = 0;
    const { sessions } = yield* useStoresThrough(path, counting(() => commits++));
    yield* sessions.set("old", { ...entry("old"), expiresAt: 1 });
    yield* sessions.append("old", events(1, 30_000), { afterLSN: 0, epoch: 1 });
    yield* sessions.set("new", entry("new"));
    commits = 0;
    const sweeping = yield* spawn(function* () {
      yield* sessions.sweep(2);
      return commits;
    });
    yield* sessions.append("new", [event(1)], { afterLSN: 0, epoch: 1 });
    yield* sessions.append("new", [event(2)], { afterLSN: 1, epoch: 1 });
    const meanwhile = commits;
    assert.ok(meanwhile <= 3, `${meanwhile} commits`);
    assert.ok((yield* sweeping) >= 30_000 / 2_000, "all was done at once");
    assert.equal(yield* sessions.get("old"), null);
  });

  it("counts a long event as many", function* () {
    const folder = yield* useFolder();
    function* commitsFor(times: number): Operation<number> {
      const path = join(folder, `${times}.db`);
      let commits = 0;
      const through = (db: Connection) => lengthened(times, counting(() => commits++)(db));
      const { sessions } = yield* useStoresThrough(path, through);
      yield* sessions.set("old", { ...entry("old"), expiresAt: 1 });
      yield* sessions.append("old", events(1, 20, "x".repeat(20_000)), { afterLSN: 0, epoch: 1 });
      commits = 0;
      yield* sessions.sweep(2);
      assert.deepEqual(yield* sessions.read("old"), []);
      assert.equal(sizeOf(`${path}-wal`), 0);
      return commits;
    }
    const short = yield* commitsFor(1);
    // About 500 pages each, so no more than five in one commit.
    const long = yield* commitsFor(100);
    assert.ok(long >= short + 3, `${short} and ${long} commits`);
  });

  it("continues where it was halted", function* () {
    const path = join(yield* useFolder(), "store.db");
    const { sessions } = yield* useStores(path);
    yield* sessions.set("old", { ...entry("old"), expiresAt: 1 });
    yield* sessions.append("old", events(1, 30_000, "x".repeat(100)), { afterLSN: 0, epoch: 1 });
    const sweeping = yield* spawn(() => sessions.sweep(2));
    yield* sessions.set("new", entry("new"));
    yield* sweeping.halt();
    assert.equal(yield* sessions.get("old"), null);
    assert.equal(yield* sessions.sweep(2), 0);
    assert.ok(sizeOf(path) < 500_000, `${sizeOf(path)}`);
    assert.equal((yield* sessions.get("new"))?.id, "new");
  });
});

describe("SqliteToolSessionStore.delete()", () => {
  it("frees a long session's id at once, and never mixes the two", function* () {
    const path = join(yield* useFolder(), "store.db");
    const { sessions } = yield* useStores(path);
    function* begin(count: number): Operation<void> {
      yield* sessions.set("a", entry("a"));
      assert.deepEqual(yield* sessions.read("a"), []);
      yield* sessions.append("a", events(1, count), { afterLSN: 0, epoch: 1 });
    }
    yield* begin(10_000);
    yield* sessions.delete("a");
    yield* begin(9_000);
    yield* sessions.delete("a");
    yield* begin(3);
    assert.deepEqual(yield* sessions.read("a"), events(1, 3));
    yield* sessions.sweep(0);
    assert.deepEqual(yield* sessions.read("a"), events(1, 3));
  });
});
