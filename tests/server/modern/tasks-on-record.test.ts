import assert from "node:assert/strict";
import { createMcpTool, type Fault } from "parley-mcp";
import { z } from "zod";
import { HandStore } from "../../support/hand-store.ts";
import { ABLE_WITH_TASKS, accept, asked, TestClient, textOf } from "../../support/modern/client.ts";
import { serving } from "../../support/modern/server.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const form = { response: z.object({ n: z.int() }) };

const asking = (name: string, start: "at_once" | "when_told") =>
  createMcpTool(name).description("d").durable().task({ start }).elicits({ a: form, b: form })
    .execute(function* (_params, ctx) {
      if (start === "when_told") {
        yield* ctx.elicit("b", { message: "b?" });
        yield* ctx.startTask();
      }
      const answer = yield* ctx.elicit("a", { message: "a?" });
      return answer.action === "accept" ? `${answer.content.n}` : "-";
    });

/** A request, and whether it has been answered. */
function watched<T>(promise: Promise<T>): { readonly promise: Promise<T>; answered: boolean } {
  const watched = { promise, answered: false };
  promise.then(() => watched.answered = true, () => watched.answered = true);
  return watched;
}

function testing(
  body: (client: TestClient, store: HandStore, faults: Fault[]) => Promise<void>,
) {
  return () => {
    const store = new HandStore();
    const serve = [asking("now", "at_once"), asking("told", "when_told")];
    return serving({ serve, store }, async ({ fetch, faults }) => {
      try {
        await body(new TestClient(fetch, { capabilities: ABLE_WITH_TASKS }), store, faults);
      } finally {
        store.release();
      }
    });
  };
}

/** Lets commits through until it is answered, which must take at least one. */
async function committed<T>(store: HandStore, promise: Promise<T>): Promise<T> {
  const call = watched(promise);
  await until(() => store.commits.length > 0);
  await idle();
  assert.equal(call.answered, false, "it was promised before it was kept");
  while (!call.answered) {
    store.commit();
    await until(() => call.answered || store.commits.length > 0);
    await idle();
  }
  return await call.promise;
}

describe("a durable task", () => {
  it(
    "is named to the client once it is recorded, and so are answers to it",
    testing(async (client, store) => {
      const { taskId, ...task } = await committed(store, client.call("now"));
      assert.equal(task.resultType, "task");
      const kept = await store.stored(taskId);
      assert.deepEqual(kept.map(({ type }) => type), ["elicit_request"]);
      const inputResponses = { a: accept({ n: 7 }) };
      await committed(store, client.result("tasks/update", { taskId, inputResponses }));
      const types = (await store.stored(taskId)).map(({ type }) => type);
      assert.deepEqual(types.slice(0, 2), ["elicit_request", "answer"]);
      store.release();
      await idle();
      const { status, result } = await client.result("tasks/get", { taskId });
      assert.equal(status, "completed");
      assert.equal(textOf(result), "7");
    }),
  );

  it(
    "is named once it is recorded, if the tool decides when it begins",
    testing(async (client, store) => {
      const asking = await committed(store, client.call("told"));
      assert.deepEqual(asked(asking), ["b"]);
      const { requestState } = asking;
      const retry = { requestState, inputResponses: { b: accept({ n: 1 }) } };
      const { taskId } = await committed(store, client.call("told", {}, retry));
      const types = (await store.stored(taskId)).map(({ type }) => type);
      assert.ok(types.includes("task_started"), `${types}`);
    }),
  );

  it(
    "is not promised if it cannot be stored",
    testing(async (client, store, faults) => {
      const call = client.error("tools/call", { name: "now", arguments: {} });
      await until(() => store.commits.length > 0);
      store.commits.shift()!.fail(new Error("the disk is full"));
      assert.match((await call).message, /could not store/);
      const [fault] = faults.splice(0);
      assert.equal(fault?.what, "the events of the call could not be stored");
    }),
  );
});
