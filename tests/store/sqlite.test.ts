import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { all, type Operation, resource, until } from "effection";
import { DatabaseSync } from "node:sqlite";
import { StoreConflict, StoreError } from "../../src/errors.ts";
import type { ToolSessionEvent } from "../../src/events.ts";
import { openStore } from "../../src/store/open.ts";
import { openSqlite, type SqliteStores } from "../../src/store/sqlite.ts";
import { describe, it } from "../suite.ts";
import { storeContract } from "./contract.ts";

/** A folder that goes with the test. */
function folder(): Operation<string> {
  return resource(function* (provide) {
    const path = mkdtempSync(join(tmpdir(), "parley-store-"));
    try {
      yield* provide(path);
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  });
}

function stores(path: string): Operation<SqliteStores> {
  return resource(function* (provide) {
    const opened = openSqlite(path);
    try {
      yield* provide(opened);
    } finally {
      opened.close();
    }
  });
}

storeContract("SqliteToolSessionStore", function* () {
  return (yield* stores(join(yield* folder(), "store.db"))).sessions;
});

const entry = (id: string) => ({ id, toolName: "t", params: { a: 1 }, createdAt: 0, epoch: 1 });
const event = (lsn: number): ToolSessionEvent => ({ type: "progress", progress: lsn, lsn });

describe("openSqlite()", () => {
  it("finds everything again after the file was closed", function* () {
    const path = join(yield* folder(), "store.db");
    const first = openSqlite(path);
    yield* first.sessions.set("a", entry("a"));
    yield* first.sessions.append("a", [event(1), event(2)], { afterLSN: 0, epoch: 1 });
    yield* first.clients.set("c", { id: "c", expiresAt: 5, state: { version: "2025-11-25" } });
    first.close();
    const second = yield* stores(path);
    assert.deepEqual(yield* second.sessions.get("a"), entry("a"));
    assert.deepEqual(yield* second.sessions.read("a"), [event(1), event(2)]);
    assert.deepEqual((yield* second.clients.get("c"))?.state, { version: "2025-11-25" });
  });

  it("refuses a file that is no database, and leaves it untouched", function* () {
    const path = join(yield* folder(), "notes.txt");
    writeFileSync(path, "these are my notes, and they are longer than a hundred bytes".repeat(20));
    const before = readFileSync(path);
    assert.throws(() => openSqlite(path), (error) => error instanceof StoreError);
    assert.deepEqual(readFileSync(path), before);
  });

  it("refuses somebody else's database, and leaves it untouched", function* () {
    const path = join(yield* folder(), "other.db");
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE people (name TEXT)");
    other.close();
    const before = readFileSync(path);
    assert.throws(() => openSqlite(path), /not one of Parley's/);
    assert.deepEqual(readFileSync(path), before);
  });

  it("refuses a file of a newer format, and leaves it untouched", function* () {
    const path = join(yield* folder(), "newer.db");
    openSqlite(path).close();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    const before = readFileSync(path);
    assert.throws(() => openSqlite(path), /a newer Parley wrote it/);
    assert.deepEqual(readFileSync(path), before);
  });

  it("refuses a damaged file in words", function* () {
    const path = join(yield* folder(), "damaged.db");
    const made = openSqlite(path);
    for (let i = 0; i < 200; i++) yield* made.sessions.set(`s${i}`, entry(`s${i}`));
    made.close();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 4096 * 2, 4096 * 6);
    writeFileSync(path, bytes);
    assert.throws(() => openSqlite(path), /is damaged/);
    assert.deepEqual(readFileSync(path), bytes);
  });

  it("says so when the place does not exist", function* () {
    const path = join(yield* folder(), "no", "such", "folder", "store.db");
    assert.throws(() => openSqlite(path), /it cannot be made there/);
  });
});

describe("SqliteToolSessionStore", () => {
  it("keeps a refused append apart from those in the same commit", function* () {
    const { sessions } = yield* stores(join(yield* folder(), "store.db"));
    yield* all(["a", "b", "c"].map((id) => sessions.set(id, entry(id))));
    const outcomes = yield* all(["a", "b", "c"].map(function* (id): Operation<string> {
      try {
        yield* sessions.append(id, [event(1)], { afterLSN: 0, epoch: id === "b" ? 7 : 1 });
        return "kept";
      } catch (error) {
        return error instanceof StoreConflict ? "refused" : String(error);
      }
    }));
    assert.deepEqual(outcomes, ["kept", "refused", "kept"]);
    assert.deepEqual(yield* sessions.read("b"), []);
    assert.deepEqual(yield* sessions.read("c"), [event(1)]);
  });

  it("sweeps what has expired, and nothing else", function* () {
    const { sessions } = yield* stores(join(yield* folder(), "store.db"));
    yield* sessions.set("old", { ...entry("old"), expiresAt: 10 });
    yield* sessions.append("old", [event(1)], { afterLSN: 0, epoch: 1 });
    yield* sessions.set("new", { ...entry("new"), expiresAt: 30 });
    yield* sessions.set("kept", entry("kept"));
    assert.equal(yield* sessions.sweep(20), 1);
    assert.equal(yield* sessions.get("old"), null);
    assert.deepEqual(yield* sessions.read("old"), []);
    assert.notEqual(yield* sessions.get("new"), null);
    assert.notEqual(yield* sessions.get("kept"), null);
  });

  it("refuses to write once it is closed", function* () {
    const opened = openSqlite(join(yield* folder(), "store.db"));
    opened.close();
    try {
      yield* opened.sessions.set("a", entry("a"));
      assert.fail("it was written");
    } catch (error) {
      assert.ok(error instanceof StoreError);
    }
  });
});

describe("openStore()", () => {
  it("opens a file by its address, and says how an address is written", function* () {
    const path = join(yield* folder(), "store.db");
    const opened = yield* until(openStore(`sqlite:${path}`));
    yield* opened.sessions.set("a", entry("a"));
    assert.deepEqual(yield* opened.sessions.get("a"), entry("a"));
    opened.close();
    yield* until(assert.rejects(openStore("postgres://x"), /give it as sqlite:PATH/));
  });
});
