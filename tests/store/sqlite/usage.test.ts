import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { entry, event, useStores } from "./kit.ts";

const long = (length: number) => "x".repeat(length);
/** Whole kilobytes, since the overhead around the texts does not matter. */
const kilobytes = (usage: ReadonlyMap<string, number>) =>
  Object.fromEntries([...usage].map(([who, bytes]) => [who, Math.floor(bytes / 1_000)]));

describe("SqliteToolSessionStore.usage()", () => {
  it("counts entries and events of each principal, until they are gone", function* () {
    const path = join(yield* useFolder(), "store.db");
    const { sessions } = yield* useStores(path);
    assert.deepEqual(kilobytes(yield* sessions.usage()), {});
    const ann = { ...entry("a"), principal: "ann", params: long(5_000), expiresAt: 1 };
    yield* sessions.append("a", [event(1, long(2_000))], { afterLSN: 0, epoch: 1, entry: ann });
    yield* sessions.append("a", [event(2, long(3_000))], { afterLSN: 1, epoch: 1 });
    yield* sessions.set("b", { ...entry("b"), principal: "bob", params: long(1_000) });
    yield* sessions.set("c", { ...entry("c"), params: long(4_000) });
    assert.deepEqual(kilobytes(yield* sessions.usage()), { ann: 10, bob: 1, "": 4 });
    // An entry that is written again replaces the former one.
    const shorter = { ...ann, params: long(1_000) };
    yield* sessions.append("a", [event(3)], { afterLSN: 2, epoch: 1, entry: shorter });
    yield* sessions.set("b", { ...entry("b"), principal: "bob", params: long(7_000) });
    assert.deepEqual(kilobytes(yield* sessions.usage()), { ann: 6, bob: 7, "": 4 });
    yield* sessions.delete("b");
    assert.equal(yield* sessions.sweep(2), 1);
    assert.deepEqual(kilobytes(yield* sessions.usage()), { "": 4 });
  });

  it("counts bytes, not characters", function* () {
    const { sessions } = yield* useStores(join(yield* useFolder(), "store.db"));
    const wide = "日".repeat(1_000);
    const ann = { ...entry("a"), principal: "ann", params: wide };
    yield* sessions.append("a", [event(1, wide)], { afterLSN: 0, epoch: 1, entry: ann });
    yield* sessions.append("a", [event(2, "😀".repeat(1_000))], { afterLSN: 1, epoch: 1 });
    yield* sessions.set("b", { ...entry("b"), principal: "bob", params: wide });
    assert.deepEqual(kilobytes(yield* sessions.usage()), { ann: 10, bob: 3 });
    yield* sessions.append("a", [], { afterLSN: 2, epoch: 1, entry: { ...ann, params: "" } });
    assert.deepEqual(kilobytes(yield* sessions.usage()), { ann: 7, bob: 3 });
  });

  it("counts what a file of version 3 holds", function* () {
    const path = join(yield* useFolder(), "store.db");
    const { sessions, close } = yield* useStores(path);
    const former = (id: string, principal: string) => ({ ...entry(id), meta: { principal } });
    for (const [id, principal] of [["a", "ann"], ["b", "bob"], ["c", ""]] as const) {
      yield* sessions.append(id, [event(1, long(3_000))], {
        afterLSN: 0,
        epoch: 1,
        entry: { ...former(id, principal), params: long(2_000) },
      });
    }
    close();
    const db = new DatabaseSync(path);
    for (const column of ["principal", "entry_bytes", "event_bytes"]) {
      db.exec(`ALTER TABLE sessions DROP COLUMN ${column}`);
    }
    db.exec("PRAGMA user_version = 3");
    db.close();
    const again = yield* useStores(path);
    assert.deepEqual(kilobytes(yield* again.sessions.usage()), { ann: 5, bob: 5, "": 5 });
    assert.equal((yield* again.sessions.read("b")).length, 1);
    yield* again.sessions.append("b", [event(2, long(1_000))], { afterLSN: 1, epoch: 1 });
    assert.deepEqual(kilobytes(yield* again.sessions.usage()), { ann: 5, bob: 6, "": 5 });
  });
});
