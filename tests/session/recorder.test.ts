import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { HandStore } from "../support/hand-store.ts";
import { idle, textOf, tool, until, withRegistry } from "../support/registry.ts";

describe("ctx.step()", () => {
  const store = new HandStore();
  it(
    "does not use a value that is not recorded yet: the next run would see another",
    withRegistry(async ({ open }) => {
      const done: string[] = [];
      const session = open(tool(function* (ctx) {
        const id = yield* ctx.uuid();
        yield* ctx.step("create", function* () {
          done.push(id);
        });
        return id;
      }));
      await idle();
      assert.deepEqual(done, []);
      while (done.length === 0) {
        await until(() => store.commits.length > 0);
        store.commit();
        await idle();
      }
      const recorded = [...session.log.after(0)];
      assert.ok(JSON.stringify(recorded).includes(done[0]!), "it was on record first");
      await until(() => store.commits.length > 0);
      store.release();
      assert.equal(await textOf(session), done[0]);
    }, { store }),
  );
});

describe("ctx.step() that uses no unrecorded value", () => {
  const store = new HandStore();
  it(
    "starts without waiting for the record",
    withRegistry(async ({ open }) => {
      let done = 0;
      const session = open(tool(function* (ctx) {
        yield* ctx.step("create", function* () {
          done++;
        });
        return "done";
      }));
      await idle();
      assert.equal(done, 1);
      assert.equal(session.log.lastLSN, 0);
      store.release();
      assert.equal(await textOf(session), "done");
    }, { store }),
  );
});
