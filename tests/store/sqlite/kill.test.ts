import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { scoped, until } from "effection";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { useChild } from "./kit.ts";

const ROUNDS = 20;
const IDS = ["a", "b", "c", "d", "e"];

describe("a process that is killed while it writes", () => {
  it("has lost nothing that was acknowledged, twenty times in a row", function* () {
    const path = join(yield* useFolder(), "store.db");
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      yield* scoped(function* () {
        const child = yield* useChild("writer.ts", [path, ...IDS]);
        const hear = (line: string) => {
          const [id, lsn] = line.split(" ");
          assert.ok(Number(lsn) > (acknowledged.get(id!) ?? 0), `round ${round}: ${line}`);
          acknowledged.set(id!, Number(lsn));
        };
        for (let heard = randomInt(300); heard >= 0; heard--) {
          const line = yield* until(child.line());
          assert.notEqual(line, undefined, "it ended by itself");
          hear(line!);
        }
        yield* until(child.kill());
        // What it had printed by then counts as well.
        for (let line; (line = yield* until(child.line())) !== undefined;) hear(line);
      });
      const stores = openSqlite(path);
      for (const [id, lsn] of acknowledged) {
        const there = (yield* stores.sessions.read(id)).length;
        assert.ok(there >= lsn, `round ${round}: ${id} has ${there} of ${lsn}`);
        assert.equal(there % 2, 0, `round ${round}: half of a batch`);
      }
      stores.close();
    }
    assert.equal(acknowledged.size, IDS.length);
  }, { within: 180_000 });
});
