import assert from "node:assert/strict";
import { join } from "node:path";
import { all, type Operation, spawn } from "effection";
import { StoreConflictError, StoreError } from "../../../src/model/errors.ts";
import { storeError } from "../../../src/store/sqlite/errors.ts";
import { SqliteFile } from "../../../src/store/sqlite/file.ts";
import { openSqlite, SqliteToolSessionStore } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { FaultyDisk } from "./faulty-disk.ts";
import { copyStore, entry, event, events, failure, useStores, useStoresThrough } from "./kit.ts";

const IDS = ["a", "b", "c", "d"];
const FIRST = { afterLSN: 0, epoch: 1 };

describe("a disk that fails", () => {
  const faults = [
    ["COMMIT", "database or disk is full", /the disk is full; free some space, and try again$/],
    ["COMMIT", "disk I/O error", /the disk failed \(disk I\/O error\); check the disk/],
    ["BEGIN", "disk I/O error", /the disk failed/],
    ["BEGIN", "database is locked", /another Parley server is using it; stop that server/],
    ["INSERT INTO events", "database or disk is full", /the disk is full/],
    ["UPDATE sessions", "database disk image is malformed", /it is damaged \(.+\); restore/],
  ] as const;

  for (const [words, message, said] of faults) {
    it(`acknowledges nothing when ${words} says "${message}", and continues after it`, function* () {
      const path = join(yield* useFolder(), "store.db");
      const disk = new FaultyDisk();
      const { sessions } = yield* useStoresThrough(path, disk.through);
      yield* all(IDS.map((id) => sessions.set(id, entry(id))));
      disk.fail(words, message);
      const errors = yield* all(
        IDS.map((id) => failure(() => sessions.append(id, events(1, 2), FIRST))),
      );
      for (const error of errors) {
        assert.ok(error instanceof StoreError, String(error));
        assert.match(error.message, /^Cannot write to the store ".+": .+; .+$/);
        assert.match(error.message, said);
      }
      disk.heal();
      for (const id of IDS) assert.deepEqual(yield* sessions.read(id), []);
      yield* all(IDS.map((id) => sessions.append(id, events(1, 2), FIRST)));
      for (const id of IDS) assert.deepEqual(yield* sessions.read(id), events(1, 2));
    });
  }

  it("fails one job without affecting those beside it", function* () {
    const path = join(yield* useFolder(), "store.db");
    const file = new SqliteFile(path);
    try {
      const sessions = new SqliteToolSessionStore(file);
      yield* all(["a", "b"].map((id) => sessions.set(id, entry(id))));
      const outcomes = yield* all([
        failure(() => sessions.append("a", [event(1)], FIRST)),
        failure(() => file.write(() => file.prepare("INSERT INTO remains VALUES (NULL, 1)"))),
        failure(() => sessions.append("b", [event(1)], { afterLSN: 5, epoch: 1 })),
        failure(() => sessions.append("b", [event(1)], FIRST)),
      ]);
      assert.deepEqual(outcomes.map((error) => error?.constructor), [
        undefined,
        StoreError,
        StoreConflictError,
        undefined,
      ]);
      for (const id of ["a", "b"]) assert.deepEqual(yield* sessions.read(id), [event(1)]);
    } finally {
      file.close();
    }
  });

  it("acknowledges nothing if it is closed while the disk fails", function* () {
    const path = join(yield* useFolder(), "store.db");
    const disk = new FaultyDisk();
    const { sessions, close } = yield* useStoresThrough(path, disk.through);
    yield* sessions.set("a", entry("a"));
    disk.fail("COMMIT", "disk I/O error");
    const appending = yield* spawn(() => failure(() => sessions.append("a", [event(1)], FIRST)));
    const closing = yield* spawn(function* () {
      close();
    });
    yield* closing;
    assert.ok((yield* appending) instanceof StoreError);
    const again = yield* useStores(path);
    assert.deepEqual(yield* again.sessions.read("a"), []);
  });

  it("throws a StoreError if something cannot be read", function* () {
    const path = join(yield* useFolder(), "store.db");
    const disk = new FaultyDisk();
    const { sessions, clients } = yield* useStoresThrough(path, disk.through);
    yield* sessions.set("a", entry("a"));
    disk.fail("SELECT", "disk I/O error");
    for (
      const use of [
        () => sessions.get("a"),
        () => sessions.read("a"),
        () => sessions.wakes(1),
        () => clients.get("c"),
      ] as (() => Operation<unknown>)[]
    ) {
      const error = yield* failure(use);
      assert.ok(error instanceof StoreError, String(error));
      assert.match(
        error.message,
        /^Cannot read the store ".+": the disk failed .+; check the disk/,
      );
    }
  });

  it("refuses a log that has lost events, or an entry that is damaged", function* () {
    const path = join(yield* useFolder(), "store.db");
    const file = new SqliteFile(path);
    try {
      const sessions = new SqliteToolSessionStore(file);
      for (const id of IDS) {
        yield* sessions.set(id, entry(id));
        yield* sessions.append(id, events(1, 3), FIRST);
      }
      yield* file.write(() => {
        const inEvents = "FROM sessions WHERE session = number AND id =";
        for (
          const sql of [
            `DELETE FROM events WHERE lsn = 2 AND EXISTS (SELECT 1 ${inEvents} 'a')`,
            `DELETE FROM events WHERE lsn = 3 AND EXISTS (SELECT 1 ${inEvents} 'b')`,
            `UPDATE events SET event = '{' WHERE lsn = 1 AND EXISTS (SELECT 1 ${inEvents} 'c')`,
            "UPDATE entries SET entry = '{' WHERE number = 4",
          ]
        ) assert.equal(Number(file.prepare(sql).run().changes), 1, sql);
      });
      for (const id of ["a", "b", "c"]) {
        const error = yield* failure(() => sessions.read(id));
        assert.ok(error instanceof StoreError, `${id}: ${error}`);
        assert.match(error.message, /it is damaged \(.+\); restore a backup/);
      }
      assert.ok((yield* failure(() => sessions.get("d"))) instanceof StoreError);
      assert.deepEqual(yield* sessions.read("d"), events(1, 3));
    } finally {
      file.close();
    }
  });
});

describe("a disk that is slow", () => {
  it("is waited for: nothing is acknowledged before everything is written", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "store.db");
    const disk = new FaultyDisk();
    const { sessions } = yield* useStoresThrough(path, disk.through);
    yield* all(IDS.map((id) => sessions.set(id, entry(id))));
    const acknowledged: string[] = [];
    const seen: { acknowledged: number; copy: string }[] = [];
    // The data on the disk at that moment, and the jobs that were reported as done.
    const look = (sql: string) => {
      if (sql !== "COMMIT") return;
      const copy = join(folder, `copy-${seen.length}.db`);
      copyStore(path, copy);
      seen.push({ acknowledged: acknowledged.length, copy });
    };
    disk.before = look;
    disk.after = look;
    yield* all(IDS.map(function* (id) {
      yield* sessions.append(id, events(1, 2), FIRST);
      acknowledged.push(id);
    }));
    assert.deepEqual(seen.map((one) => one.acknowledged), [0, 0]);
    assert.deepEqual(acknowledged.sort(), IDS);
    for (const [i, { copy }] of seen.entries()) {
      const then = openSqlite(copy);
      for (const id of IDS) {
        assert.deepEqual(yield* then.sessions.read(id), i === 0 ? [] : events(1, 2));
      }
      then.close();
    }
  });
});

describe("storeError()", () => {
  it("keeps our own errors, and never shows a statement", () => {
    const ours = new StoreError("Cannot open the store: really; do something");
    assert.equal(storeError("open", "p", ours), ours);
    const { message, cause } = storeError("open", "p", new Error("oh in SELECT 1 at offset 3"));
    assert.match(message, /^Cannot open the store "p": oh; check the path/);
    assert.ok(cause instanceof Error);
    assert.match(storeError("read", "p", "odd").message, /^Cannot read the store "p": odd; check/);
  });
});
