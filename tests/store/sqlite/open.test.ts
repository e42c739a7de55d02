import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { all, type Operation, until } from "effection";
import { StoreError } from "../../../src/model/errors.ts";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { copyStore, entry, event, tryOpen, useChild, useStores } from "./kit.ts";

const WORDS = /^Cannot open the store ".+": .+; .+$/s;

const IDS = Array.from({ length: 200 }, (_, i) => `s${i}`);

/** Everything in a folder, byte for byte. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).sort().map((
      name,
    ) => [name, readFileSync(join(folder, name)).toString("hex")]),
  );
}

/** Asserts that opening is refused with a reason, and changes nothing in the folder. */
function refuses(path: string, folder: string, words: RegExp): void {
  const before = contents(folder);
  const refused = tryOpen(path);
  assert.ok(refused instanceof StoreError, "it was opened");
  assert.match(refused.message, WORDS);
  assert.match(refused.message, words);
  assert.ok(refused.message.includes(path));
  assert.deepEqual(contents(folder), before);
}

describe("openSqlite() and its owner", () => {
  it("refuses a file that another process has open, until that is killed", function* () {
    const path = join(yield* useFolder(), "store.db");
    const child = yield* useChild("holder.ts", [path]);
    assert.equal(yield* until(child.line()), "open");
    const refused = tryOpen(path, 0);
    assert.ok(refused instanceof StoreError, "two have it open");
    assert.equal(
      refused.message,
      `Cannot open the store "${path}": another Parley server is using it; stop that server, or use another path`,
    );
    yield* until(child.kill());
    const { sessions } = yield* useStores(path);
    yield* sessions.set("a", entry("a"));
    assert.notEqual(yield* sessions.get("a"), null);
  });

  it("lets the next process in once it is closed", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "store.db");
    const first = openSqlite(path);
    yield* first.sessions.set("a", entry("a"));
    const child = yield* useChild("holder.ts", [path]);
    first.close();
    assert.equal(yield* until(child.line()), "open");
    child.tell("close");
    assert.equal(yield* until(child.line()), "closed");
    assert.equal(yield* until(child.ended()), 0);
    assert.deepEqual(readdirSync(folder), ["store.db"]);
  });

  it("makes the file readable by its owner only, whatever the umask", function* () {
    for (const mask of [0, 0o777]) {
      const folder = yield* useFolder();
      const path = join(folder, "store.db");
      const before = process.umask(mask);
      try {
        const { sessions } = yield* useStores(path);
        yield* sessions.set("a", entry("a"));
        const files = readdirSync(folder);
        assert.deepEqual(files.sort(), ["store.db", "store.db-wal"]);
        for (const name of files) {
          assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, `${name}, mask ${mask}`);
        }
      } finally {
        process.umask(before);
      }
    }
  });

  it("creates a store in an empty file, readable by its owner only", function* () {
    const path = join(yield* useFolder(), "store.db");
    writeFileSync(path, "", { mode: 0o666 });
    const { sessions } = yield* useStores(path);
    yield* sessions.set("a", entry("a"));
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("leaves only the file once it is closed", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "store.db");
    for (let round = 0; round < 2; round++) {
      const stores = openSqlite(path);
      yield* stores.sessions.set("a", entry("a"));
      stores.close();
      assert.deepEqual(readdirSync(folder), ["store.db"]);
    }
  });

  it("keeps stores in memory apart from each other", function* () {
    const [one, other] = [yield* useStores(":memory:"), yield* useStores(":memory:")];
    yield* one.sessions.set("a", entry("a"));
    yield* one.sessions.append("a", [event(1)], { afterLSN: 0, epoch: 1 });
    assert.deepEqual(yield* one.sessions.read("a"), [event(1)]);
    assert.equal(yield* one.sessions.sweep(1), 0);
    assert.equal(yield* other.sessions.get("a"), null);
  });

  it("accepts any file name", function* () {
    const path = join(yield* useFolder(), "a b#c?d%20e'\"ä🌱.db");
    for (let round = 0; round < 2; round++) {
      const stores = openSqlite(path);
      yield* stores.sessions.set(`${round}`, entry(`${round}`));
      stores.close();
    }
    const { sessions } = yield* useStores(path);
    for (const id of ["0", "1"]) assert.notEqual(yield* sessions.get(id), null);
  });
});

describe("openSqlite() with a file that it must not touch", () => {
  /** A store as a crash leaves it: part of it in the file, part in the log beside it. */
  function* unclean(folder: string, change = ""): Operation<string> {
    const path = join(folder, "unclean.db");
    const source = join(yield* useFolder(), "source.db");
    const made = openSqlite(source);
    yield* all(IDS.map((id) => made.sessions.set(id, entry(id))));
    made.close();
    const db = new DatabaseSync(source);
    try {
      db.exec("PRAGMA journal_mode = WAL; DELETE FROM entries WHERE number = 200;" + change);
      copyStore(source, path);
    } finally {
      db.close();
    }
    return path;
  }

  it("refuses notes, another program's database and a folder", function* () {
    const folder = yield* useFolder();
    const notes = join(folder, "notes.txt");
    writeFileSync(notes, "these are my notes, and they are longer than a page".repeat(100));
    refuses(notes, folder, /is damaged \(file is not a database\)/);
    writeFileSync(notes, "short");
    refuses(notes, folder, /is damaged \(file is not a database\)/);
    const other = join(folder, "other.db");
    const db = new DatabaseSync(other);
    db.exec("CREATE TABLE people (name TEXT)");
    db.close();
    refuses(other, folder, /not a Parley store/);
    const refused = tryOpen(folder);
    assert.ok(refused instanceof StoreError);
    assert.match(refused.message, WORDS);
  });

  it("refuses a file of a newer version", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "newer.db");
    openSqlite(path).close();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    refuses(
      path,
      folder,
      /a newer version of Parley wrote it \(format 99; this version supports format 4\)/,
    );
  });

  it("refuses a file whose log alone is of a newer version, and keeps the log", function* () {
    const folder = yield* useFolder();
    const path = yield* unclean(folder, "PRAGMA user_version = 99");
    const log = readFileSync(`${path}-wal`);
    const file = readFileSync(path);
    const refused = tryOpen(path);
    assert.ok(refused instanceof StoreError && /a newer version of Parley/.test(refused.message));
    assert.deepEqual(readFileSync(path), file);
    assert.deepEqual(readFileSync(`${path}-wal`), log);
  });

  it("refuses a damaged file", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "damaged.db");
    const made = openSqlite(path);
    yield* all(IDS.map((id) => made.sessions.set(id, entry(id))));
    made.close();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 4096 * 2, 4096 * 6);
    writeFileSync(path, bytes);
    refuses(path, folder, /is damaged/);
  });

  it("refuses a damaged file with a log beside it, and keeps the log", function* () {
    const folder = yield* useFolder();
    const path = yield* unclean(folder);
    const file = readFileSync(path);
    file.fill(0x5a, 4096 * 2, 4096 * 6);
    writeFileSync(path, file);
    const log = readFileSync(`${path}-wal`);
    const refused = tryOpen(path);
    assert.ok(refused instanceof StoreError && /is damaged/.test(refused.message));
    assert.deepEqual(readFileSync(path), file);
    assert.deepEqual(readFileSync(`${path}-wal`), log);
  });

  it("opens an intact file that was not closed, with the content of its log", function* () {
    const path = yield* unclean(yield* useFolder());
    const { sessions } = yield* useStores(path);
    assert.notEqual(yield* sessions.get("s0"), null);
    assert.equal(yield* sessions.get("s199"), null);
  });
});
