import assert from "node:assert/strict";
import { run } from "effection";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { HandStore } from "../support/hand-store.ts";
import {
  accept,
  askTool,
  ended,
  follow,
  idle,
  questionOf,
  textOf,
  tool,
  types,
  until,
  withRegistry,
} from "../support/registry.ts";

const chatty = tool(function* (ctx) {
  yield* ctx.notify("one");
  yield* ctx.notify("two");
  yield* ctx.notify("three");
  const { content } = yield* ctx.elicit("n", { message: "?" });
  yield* ctx.notify("four");
  return `${content.n}`;
});

/** A test body with a registry whose store commits by hand. */
function withHandStore(
  body: (kit: Parameters<Parameters<typeof withRegistry>[0]>[0], store: HandStore) => Promise<void>,
) {
  const store = new HandStore();
  return withRegistry(async (kit) => {
    try {
      await body(kit, store);
    } finally {
      store.release();
    }
  }, { store });
}

describe("Journal", () => {
  it(
    "shows no event before it is committed",
    withHandStore(async ({ open }, store) => {
      const session = open(chatty);
      const reader = follow(session);
      await idle();
      assert.deepEqual([types(session), reader.events], ["", []]);
      assert.equal(store.commits.length, 1);
      store.commit();
      await idle();
      assert.deepEqual(reader.events.map(({ lsn }) => lsn), [1]);
      assert.equal(types(session), "progress");
      store.commitAll();
      accept(session, { n: 1 });
      store.commitAll();
      await until(() => reader.outcome !== undefined);
    }),
  );

  it(
    "collects the next batch while a commit is under way, and keeps the order",
    withHandStore(async ({ open }, store) => {
      const session = open(chatty);
      assert.deepEqual(store.commits.map(({ events }) => events.map(({ lsn }) => lsn)), [[1]]);
      store.commit();
      assert.deepEqual(
        store.commits.map(({ events }) => events.map(({ lsn }) => lsn)),
        [[2, 3, 4]],
        "one commit at a time, with everything that came meanwhile",
      );
      store.commit();
      assert.equal(store.commits.length, 0);
      accept(session, { n: 5 });
      store.commitAll();
      assert.equal(await textOf(session), "5");
      assert.deepEqual(await store.stored(session.id), session.log.after(0));
      assert.deepEqual(
        session.log.after(0).map(({ lsn }) => lsn),
        [1, 2, 3, 4, 5, 6, 7],
      );
    }),
  );

  it(
    "writes the entry with the first event, in one commit",
    withHandStore(async ({ open, clock }, store) => {
      const session = open(askTool);
      const { id, client } = session;
      assert.equal(await run(() => store.get(id)), null);
      assert.deepEqual(await store.stored(session.id), []);
      store.commit();
      assert.equal((await store.stored(session.id)).length, 1);
      assert.deepEqual(await run(() => store.get(id)), {
        id,
        toolName: "ask",
        toolVersion: "1",
        params: {},
        principal: "",
        createdAt: clock.now(),
        // A minute longer than any state that leads to it.
        expiresAt: clock.now() + 7 * 24 * 3_600_000 + 60_000,
        epoch: 1,
        meta: { kind: "tool", principal: "", client, keepUntil: 0, settled: 1 },
      });
    }),
  );

  it(
    "gives an answer to the tool only once it is recorded (QUESTION-2)",
    withHandStore(async ({ open }, store) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        yield* ctx.elicit("n", { message: "?" });
        log.push("answered");
        return "";
      }));
      store.commitAll();
      assert.equal(accept(session, { n: 1 }), "accepted");
      await idle();
      assert.deepEqual(log, []);
      assert.deepEqual(session.openRequests(), [], "but nobody is asked to answer any more");
      assert.equal(session.currentStatus(), "running");
      store.commit();
      assert.deepEqual(log, ["answered"]);
      store.commitAll();
      await ended(session);
    }),
  );

  it(
    "tells the tool of a timeout only once that is recorded (QUESTION-2)",
    withHandStore(async ({ open, clock }, store) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        const { action } = yield* ctx.elicit("n", { message: "?" }, { timeout: 10 });
        log.push(action);
        return "";
      }));
      store.commitAll();
      const question = questionOf(session);
      clock.advance(10);
      assert.deepEqual(log, []);
      assert.equal(session.respond(question, { action: "decline" }), "withdrawn");
      store.commit();
      assert.deepEqual(log, ["timeout"]);
      store.commitAll();
      await ended(session);
    }),
  );

  it(
    "recognises a second answer while the first is still being recorded",
    withHandStore(async ({ open }, store) => {
      const session = open(askTool);
      store.commitAll();
      const question = questionOf(session);
      assert.equal(session.respond(question, { action: "accept", content: { n: 1 } }), "accepted");
      assert.equal(session.respond(question, { action: "accept", content: { n: 1 } }), "repeated");
      assert.equal(session.respond(question, { action: "decline" }), "conflicting");
      store.commitAll();
      assert.equal(await textOf(session), "got 1");
    }),
  );

  it(
    "ends the session for everyone only once its end is recorded",
    withHandStore(async ({ open, registry }, store) => {
      const session = open(tool(function* () {
        return "done";
      }));
      const reader = follow(session);
      const cancel = run(() => session.cancel());
      await idle();
      assert.deepEqual([session.outcome, reader.outcome, registry.counts.live], [
        undefined,
        undefined,
        1,
      ]);
      assert.equal(session.currentStatus(), "running");
      store.commit();
      await cancel;
      assert.equal(await textOf(session), "done", "cancelling came too late");
      assert.equal(reader.outcome?.status, "completed");
    }),
  );
});

describe("Journal, when the store fails", () => {
  it(
    "ends a waiting session as failed, and shows no event that was not recorded",
    withHandStore(async ({ open, faults }, store) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        try {
          yield* ctx.notify("recorded");
          yield* ctx.notify("never recorded");
          yield* ctx.elicit("n", { message: "?" });
          log.push("never");
        } finally {
          log.push("cleaned up");
        }
        return "";
      }));
      const reader = follow(session);
      store.commit();
      const broken = new Error("disk full");
      store.commits.shift()!.fail(broken);
      const outcome = await ended(session);
      assert.equal(outcome.status, "failed");
      assert.equal((outcome as { error: { code: number } }).error.code, -32603);
      await until(() => reader.outcome !== undefined);
      assert.deepEqual(reader.outcome, outcome);
      assert.deepEqual(reader.events.map(({ lsn, type }) => `${lsn} ${type}`), [
        "1 progress",
        "2 error",
      ]);
      assert.deepEqual(log, ["cleaned up"]);
      assert.deepEqual(faults.map(({ error, sessionId }) => [error, sessionId]), [
        [broken, session.id],
      ]);
      assert.deepEqual((await store.stored(session.id)).length, 1);
      // Only the end is written, so that the call does not continue by itself.
      await until(() => store.commits.length === 1);
      assert.deepEqual(store.commits[0]!.events, [session.log.next(1)]);
      store.commit();
      await idle();
      assert.deepEqual(await store.stored(session.id), reader.events);
      assert.equal(store.commits.length, 0);
    }),
  );

  it(
    "keeps an end that is recorded, although a later change of the record fails (SESSION-1)",
    withHandStore(async ({ open, faults }, store) => {
      const session = open(askTool);
      store.commitAll();
      accept(session, { n: 1 });
      store.commitAll();
      const outcome = await ended(session);
      assert.equal(outcome.status, "completed");
      const before = types(session);
      session.storeFailed(new Error("disk full"));
      assert.deepEqual(session.outcome, outcome);
      assert.equal(types(session), before);
      assert.equal(faults.length, 1);
    }),
  );

  it(
    "withdraws a result that could not be recorded",
    withHandStore(async ({ open }, store) => {
      const session = open(tool(function* () {
        return "done";
      }));
      store.commits.shift()!.fail(new Error("disk full"));
      assert.equal((await ended(session)).status, "failed");
      assert.equal(types(session), "error");
    }),
  );

  it(
    "withdraws an answer that could not be recorded: the tool never gets it",
    withHandStore(async ({ open }, store) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        yield* ctx.elicit("n", { message: "?" });
        log.push("answered");
        return "";
      }));
      store.commitAll();
      accept(session, { n: 1 });
      store.commits.shift()!.fail(new Error("disk full"));
      assert.equal((await ended(session)).status, "failed");
      assert.deepEqual(log, []);
      assert.equal(types(session), "elicit_request,error");
    }),
  );

  it(
    "does the same if another owner has taken over (StoreConflictError)",
    withHandStore(async ({ open, faults }, store) => {
      const session = open(askTool);
      store.commitAll();
      const entry = await run(() => store.get(session.id));
      await run(() => store.set(session.id, { ...entry!, epoch: 2 }));
      accept(session, { n: 1 });
      store.commit();
      assert.equal((await ended(session)).status, "failed");
      assert.equal((faults[0]!.error as { code: string }).code, "PARLEY_STORE_CONFLICT");
    }),
  );

  it(
    "does the same while the tool is being cancelled",
    withHandStore(async ({ open }, store) => {
      const session = open(askTool);
      const cancel = run(() => session.cancel());
      store.commits.shift()!.fail(new Error("disk full"));
      await cancel;
      assert.equal(session.outcome?.status, "failed");
      assert.equal(types(session), "error");
    }),
  );

  it(
    "does the same if the store fails at once, in the tool's first step",
    withRegistry(async ({ open }) => {
      for (
        const body of [
          tool(function* (ctx) {
            yield* ctx.notify("one");
            return yield* ctx.elicit("n", { message: "?" });
          }),
          askTool,
          tool(function* () {
            return "done";
          }),
        ]
      ) {
        const session = open(body);
        assert.equal((await ended(session)).status, "failed");
        assert.equal(types(session), "error");
      }
    }, {
      store: Object.assign(new InMemoryToolSessionStore(), {
        append() {
          throw new Error("no disk");
        },
      }),
    }),
  );
});

describe("a registry with a store", () => {
  it(
    "deletes a forgotten session there, and waits for that when it closes",
    withHandStore(async ({ open, registry, clock }, store) => {
      store.slowDelete = true;
      const session = open(askTool);
      store.commitAll();
      accept(session, { n: 1 });
      store.commitAll();
      await ended(session);
      session.markDelivered();
      clock.advance(60_000);
      assert.equal(registry.find(session.id), undefined);
      let closed = false;
      const closing = registry.close().then(() => closed = true);
      await idle();
      assert.deepEqual([closed, store.inner.size], [false, 1]);
      store.deletions.shift()!();
      await closing;
      assert.equal(store.inner.size, 0);
    }),
  );

  it(
    "keeps the record of a session whose outcome was not delivered, until it expires",
    withHandStore(async ({ open, registry, clock }, store) => {
      const session = open(askTool);
      store.release();
      accept(session, { n: 1 });
      await ended(session);
      clock.advance(60_000);
      assert.equal(registry.find(session.id), undefined, "it has left memory");
      assert.equal((await store.stored(session.id)).at(-1)?.type, "result");
      registry.wake();
      clock.advance(60_000);
      await idle();
      assert.equal(store.inner.size, 1);
      clock.advance(8 * 24 * 3_600_000);
      await idle();
      clock.advance(60_000);
      await idle();
      assert.equal(store.inner.size, 0);
    }),
  );

  it(
    "reports a deletion that fails, and continues",
    withRegistry(async ({ open, clock, faults }) => {
      const session = open(tool(function* () {
        return "done";
      }));
      assert.equal(await textOf(session), "done");
      session.markDelivered();
      clock.advance(60_000);
      await idle();
      assert.deepEqual(faults.map(({ error }) => String(error)), ["Error: locked"]);
    }, {
      store: Object.assign(new InMemoryToolSessionStore(), {
        delete() {
          throw new Error("locked");
        },
      }),
    }),
  );
});
