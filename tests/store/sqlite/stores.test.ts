import assert from "node:assert/strict";
import { join } from "node:path";
import { all, type Operation, until } from "effection";
import { StoreConflictError, StoreError } from "../../../src/model/errors.ts";
import { openStore } from "../../../src/store/open.ts";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { storeContract } from "../contract.ts";
import { entry, event, failure, useStores } from "./kit.ts";

storeContract("SqliteToolSessionStore", function* () {
  return (yield* useStores(join(yield* useFolder(), "store.db"))).sessions;
});

describe("openSqlite()", () => {
  it("finds everything again after the file was closed", function* () {
    const path = join(yield* useFolder(), "store.db");
    const first = openSqlite(path);
    yield* first.sessions.set("a", entry("a"));
    yield* first.sessions.append("a", [event(1), event(2)], { afterLSN: 0, epoch: 1 });
    yield* first.clients.set("c", { id: "c", expiresAt: 5, state: { version: "2025-11-25" } });
    first.close();
    const second = yield* useStores(path);
    assert.deepEqual(yield* second.sessions.get("a"), entry("a"));
    assert.deepEqual(yield* second.sessions.read("a"), [event(1), event(2)]);
    assert.deepEqual((yield* second.clients.get("c"))?.state, { version: "2025-11-25" });
  });

  it("reports that the folder does not exist", function* () {
    const path = join(yield* useFolder(), "no", "such", "folder", "store.db");
    assert.throws(() => openSqlite(path), /it cannot be created/);
  });
});

describe("SqliteToolSessionStore", () => {
  it("separates a refused append from others in the same commit", function* () {
    const { sessions } = yield* useStores(join(yield* useFolder(), "store.db"));
    yield* all(["a", "b", "c"].map((id) => sessions.set(id, entry(id))));
    const outcomes = yield* all(["a", "b", "c"].map(function* (id): Operation<string> {
      try {
        yield* sessions.append(id, [event(1)], { afterLSN: 0, epoch: id === "b" ? 7 : 1 });
        return "kept";
      } catch (error) {
        return error instanceof StoreConflictError ? "refused" : String(error);
      }
    }));
    assert.deepEqual(outcomes, ["kept", "refused", "kept"]);
    assert.deepEqual(yield* sessions.read("b"), []);
    assert.deepEqual(yield* sessions.read("c"), [event(1)]);
  });

  it("deletes what has expired, and nothing else", function* () {
    const { sessions } = yield* useStores(join(yield* useFolder(), "store.db"));
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

  it("throws if it is used after it was closed", function* () {
    const opened = openSqlite(join(yield* useFolder(), "store.db"));
    opened.close();
    for (
      const use of [
        () => opened.sessions.set("a", entry("a")),
        () => opened.sessions.get("a"),
        () => opened.sessions.sweep(0),
        () => opened.clients.get("a"),
      ]
    ) {
      const error = yield* failure(use);
      assert.ok(error instanceof StoreError, String(error));
      assert.match(error.message, /it is closed/);
    }
  });
});

describe("openStore()", () => {
  it("opens a file by its address, and explains the form of an address", function* () {
    const path = join(yield* useFolder(), "store.db");
    const opened = yield* until(openStore(`sqlite:${path}`));
    yield* opened.sessions.set("a", entry("a"));
    assert.deepEqual(yield* opened.sessions.get("a"), entry("a"));
    opened.close();
    yield* until(assert.rejects(openStore("postgres://x"), /write it as sqlite:PATH/));
  });
});
