/** Copies of a store while another process writes to it. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../../src/model/errors.ts";
import { copyStore, removeCopy } from "../../../src/store/sqlite/snapshot.ts";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { useChild } from "./kit.ts";

function* useCopy(path: string): Operation<readonly number[]> {
  const folder = yield* useFolder();
  const copy = yield* until(copyStore(path, folder));
  const { sessions, close } = openSqlite(copy);
  const lengths: number[] = [];
  for (const id of yield* sessions.sessionsOf("")) {
    lengths.push((yield* sessions.read(id)).length);
  }
  close();
  yield* until(removeCopy(copy));
  assert.deepEqual(readdirSync(folder), []);
  return lengths;
}

describe("copyStore()", () => {
  it("gives a whole store at every moment while a server writes", function* () {
    const path = join(yield* useFolder(), "store.db");
    const child = yield* useChild("busy-writer.ts", [path]);
    yield* until(child.line());
    let seen = 0;
    for (let copies = 0; copies < 8; copies++) {
      const lengths = yield* useCopy(path);
      // Nothing that was acknowledged before is missing, and no log has a hole.
      const total = lengths.reduce((sum, length) => sum + length, 0);
      assert.ok(total >= seen, `${total} events after ${seen}`);
      seen = total;
      yield* until(child.line());
    }
    assert.ok(seen > 0);
  }, { within: 60_000 });

  it("gives up on a file that is missing, and leaves nothing behind", function* () {
    const folder = yield* useFolder();
    const copied = copyStore(join(folder, "missing.db"), folder).then(() => undefined, (e) => e);
    assert.ok((yield* until(copied)) instanceof StoreError);
    assert.deepEqual(readdirSync(folder), []);
    assert.ok(!existsSync(join(folder, "missing.db")));
  });
});
