import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../src/model/errors.ts";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { copyStore, entry, event, events, tryOpen, useStores } from "./kit.ts";

// A file as earlier versions created it.
const FORMER_SCHEMA = (version: 1 | 2) => `
  PRAGMA journal_mode = WAL;
  PRAGMA application_id = ${0x50726c79};
  PRAGMA user_version = ${version};
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    last_lsn INTEGER NOT NULL,
    expires_at INTEGER,
    entry TEXT NOT NULL${version === 2 ? ", wake_at INTEGER" : ""}
  ) WITHOUT ROWID;
  CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;
  ${
  version === 2
    ? "CREATE INDEX sessions_by_wake ON sessions (wake_at, id) WHERE wake_at IS NOT NULL;"
    : ""
}
  CREATE TABLE events (
    session_id TEXT NOT NULL,
    lsn INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (session_id, lsn)
  ) WITHOUT ROWID;
  CREATE TABLE client_sessions (
    id TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL,
    record TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX client_sessions_by_expiry ON client_sessions (expires_at);
`;

const IDS = Array.from({ length: 40 }, (_, i) => `s${i}`);
const CLIENT = { id: "c", expiresAt: 5, state: { version: "2025-11-25" } };

/** Each session has as many events as its number; every second expires, every third may wake. */
function formerFile(path: string, version: 1 | 2): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec(FORMER_SCHEMA(version));
  db.exec("BEGIN");
  for (const [i, id] of IDS.entries()) {
    db.prepare("INSERT INTO sessions (id, epoch, last_lsn, expires_at, entry) VALUES (?,?,?,?,?)")
      .run(id, 1 + i % 3, i, i % 2 ? i : null, JSON.stringify(entry(id)));
    for (const one of events(1, i)) {
      db.prepare("INSERT INTO events (session_id, lsn, event) VALUES (?, ?, ?)")
        .run(id, one.lsn, JSON.stringify(one));
    }
    if (version === 2 && i % 3 === 0) {
      db.prepare("UPDATE sessions SET wake_at = ? WHERE id = ?").run(100 + i, id);
    }
  }
  db.prepare("INSERT INTO client_sessions (id, expires_at, record) VALUES (?, ?, ?)")
    .run(CLIENT.id, CLIENT.expiresAt, JSON.stringify(CLIENT));
  db.exec("COMMIT");
  return db;
}

describe("openSqlite() with a file of an older version", () => {
  for (const version of [1, 2] as const) {
    for (const state of ["closed", "unclean"] as const) {
      it(`finds everything of version ${version} again, from a ${state} file`, function* () {
        const folder = yield* useFolder();
        const source = join(folder, "source.db");
        const db = formerFile(source, version);
        const path = state === "closed" ? source : join(folder, "copy.db");
        if (state === "unclean") copyStore(source, path);
        db.close();
        assert.equal(existsSync(`${path}-wal`), state === "unclean");
        // The second time it has the current version already.
        for (let round = 0; round < 2; round++) {
          const { sessions, clients, close } = openSqlite(path);
          for (const [i, id] of IDS.entries()) {
            assert.deepEqual(yield* sessions.get(id), {
              ...entry(id, 1 + i % 3),
              ...(i % 2 && { expiresAt: i }),
            });
            assert.deepEqual(yield* sessions.read(id), events(1, i));
          }
          const wakes = version === 1
            ? []
            : IDS.flatMap((id, i) => i % 3 === 0 ? [{ id, wakeAt: 100 + i }] : []);
          assert.deepEqual(yield* sessions.wakes(100), wakes);
          assert.deepEqual(yield* clients.get("c"), CLIENT);
          close();
        }
        const { sessions } = yield* useStores(path);
        yield* sessions.append("s7", [event(8)], { afterLSN: 7, epoch: 2, wakeAt: 1 });
        assert.deepEqual(yield* sessions.read("s7"), events(1, 8));
        assert.equal(yield* sessions.sweep(30), 15);
        assert.equal(yield* sessions.get("s29"), null);
        assert.deepEqual(yield* sessions.read("s30"), events(1, 30));
      });
    }
  }

  it("returns free space to the disk from then on", function* () {
    const path = join(yield* useFolder(), "store.db");
    const db = formerFile(path, 1);
    db.prepare("UPDATE sessions SET expires_at = 1, last_lsn = 1 WHERE id = 's0'").run();
    db.prepare("INSERT INTO events (session_id, lsn, event) VALUES ('s0', 1, ?)")
      .run(JSON.stringify(event(1, "x".repeat(4_000_000))));
    db.close();
    const { sessions } = yield* useStores(path);
    assert.ok(statSync(path).size > 4_000_000);
    yield* sessions.sweep(2);
    assert.ok(statSync(path).size < 1_000_000, `${statSync(path).size}`);
  });

  it("leaves the file unchanged if the migration fails half-way", function* () {
    const path = join(yield* useFolder(), "store.db");
    const db = formerFile(path, 1);
    // The last step but one fails: the name is already taken.
    db.exec("CREATE TABLE remains (what TEXT)");
    db.close();
    const before = readFileSync(path);
    const refused = tryOpen(path);
    assert.ok(refused instanceof StoreError, "it was opened");
    assert.match(
      refused.message,
      /^Cannot open the store ".+": it could not be migrated from format 1 to 4, and is unchanged: table remains already exists; .+$/,
    );
    assert.deepEqual(readFileSync(path), before);
    const again = new DatabaseSync(path);
    again.exec("DROP TABLE remains");
    again.close();
    const { sessions } = yield* useStores(path);
    assert.deepEqual(yield* sessions.read("s39"), events(1, 39));
  });
});
