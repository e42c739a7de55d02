import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createManualClock,
  createParley,
  type Fault,
  type ManualClock,
  type Parley,
  type ParleyOptions,
  Sealer,
} from "../../src/mod.ts";
import { copyFormerStore, type Held, openFormerStore } from "../fixtures/store-format-3/open.ts";
import { makeTools, World } from "../fixtures/store-format-3/tools.ts";
import { describe, it } from "../suite.ts";
import { TestClient, textOf } from "../support/legacy/client.ts";
import { ABLE_WITH_TASKS, TestClient as ModernClient } from "../support/modern/client.ts";

const HOUR = 3_600_000;
const accept = (text: string) => ({ action: "accept", content: { text } });
const line = { role: "assistant", content: { type: "text", text: "a line" }, model: "m" };

interface Place {
  readonly world: World;
  readonly held: Held;
  readonly clock: ManualClock;
  readonly faults: Fault[];
  serve(options?: ParleyOptions): Parley;
}

/** A copy of the store, and servers for it, half an hour after it was written. */
async function withFormerStore(body: (place: Place) => Promise<void>): Promise<void> {
  const { folder, held, remove } = copyFormerStore();
  const clock = createManualClock(held.madeAt + HOUR / 2);
  const world = new World();
  const faults: Fault[] = [];
  const servers: Parley[] = [];
  const store = await openFormerStore(folder);
  try {
    await body({
      world,
      held,
      clock,
      faults,
      serve(options = {}) {
        const server = createParley({
          serve: makeTools(world),
          clock,
          report: (fault) => faults.push(fault),
          ...store.options,
          ...options,
        });
        servers.push(server);
        return server;
      },
    });
  } finally {
    for (const server of servers) await server.close();
    store.close();
    remove();
  }
}

/** Advances the clock by a millisecond in each turn until the condition holds. */
async function driven<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let over = false;
  promise.finally(() => over = true).catch(() => {});
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1);
  }
  return await promise;
}

function text(result: unknown): string {
  return textOf(result as never);
}

describe("a store of format 3 with waiting calls", () => {
  it("finishes every call of its legacy clients, and repeats no step", () =>
    withFormerStore(async ({ world, held, clock, faults, serve }) => {
      const server = serve();
      const { sessionId, calls, older } = held.legacy;
      const resume = (id: string) => {
        const client = new TestClient(server.fetch);
        client.sessionId = id;
        return client;
      };
      const client = resume(sessionId);
      const replies: Record<string, object[]> = {
        question: [accept("green")],
        branches: [accept("one"), accept("two")],
        model: [line],
        phases: [accept("go")],
        order: [accept("yes")],
        nap: [],
        slow: [],
      };
      assert.deepEqual(Object.keys(calls).sort(), Object.keys(replies).sort());
      const texts: Record<string, string> = {};
      for (const [tool, { id, lastEventId, questions }] of Object.entries(calls)) {
        const answers = replies[tool]!;
        assert.equal(questions.length, answers.length, tool);
        for (const [i, question] of questions.entries()) {
          const { status } = await client.answer({ id: question } as never, answers[i]!);
          assert.equal(status, 202, tool);
        }
        if (tool === "nap") clock.advance(2 * HOUR);
        const rest = await driven(clock, (await client.listen(lastEventId)).rest());
        const last = rest.at(-1);
        assert.equal(last?.id, id, `${tool}: ${JSON.stringify(rest)}`);
        texts[tool] = text(last!.result);
      }
      const { order, ...plain } = texts;
      assert.deepEqual(plain, {
        question: "tea: green",
        branches: "one, stepped left + two",
        model: "a line",
        phases: "held, 36 go, freed",
        nap: "yes, awake",
        slow: "yes, worked, 36",
      });
      assertOrder(order!, held.madeAt);
      const suffixes = world.steps.map((key) => key.slice(key.indexOf(":")));
      assert.deepEqual(
        suffixes.toSorted(),
        // Modern calls that run or sleep wait for their client.
        [":#after:free:0", ":/0:left:0", "::ship:0", "::wake:0", "::work:0"],
      );
      const other = resume(older.sessionId);
      await other.answer({ id: older.question } as never, accept("chocolate"));
      const told = await (await other.listen(older.lastEventId)).rest();
      assert.equal(text(told.at(-1)!.result), "cake: chocolate");
      assert.deepEqual(faults, []);
    }));

  it("finishes every call of its modern clients, and repeats no step", () =>
    withFormerStore(async ({ world, held, clock, faults, serve }) => {
      const server = serve();
      const client = new ModernClient(server.fetch);
      const replies: Record<string, Record<string, object>> = {
        question: { only: accept("green") },
        branches: { left: accept("one"), right: accept("two") },
        model: { sample: line },
        phases: { only: accept("go") },
        order: { confirm: accept("yes") },
        nap: {},
        slow: {},
      };
      assert.deepEqual(Object.keys(held.modern).sort(), Object.keys(replies).sort());
      const texts: Record<string, string> = {};
      for (const [tool, one] of Object.entries(held.modern)) {
        const { questions, ...state } = one;
        assert.deepEqual([...questions].sort(), Object.keys(replies[tool]!).sort(), tool);
        const params = { name: tool, inputResponses: replies[tool]!, ...state };
        if (tool === "nap") clock.advance(2 * HOUR);
        const { result } = await driven(clock, client.request("tools/call", params));
        assert.ok(result.content, `${tool}: ${JSON.stringify(result)}`);
        texts[tool] = text(result);
      }
      const { order, ...plain } = texts;
      assert.deepEqual(plain, {
        question: "tea: green",
        branches: "one, stepped left + two",
        model: "a line",
        phases: "held, 36 go, freed",
        nap: "yes, awake",
        slow: "yes, worked, 36",
      });
      assertOrder(order!, held.madeAt);
      assert.equal(new Set(world.steps).size, world.steps.length, "no step was done twice");
      assert.deepEqual(faults, []);
    }));

  it("finishes its task, and the call of a named principal, which nobody else can", () =>
    withFormerStore(async ({ world, held, serve }) => {
      const server = serve();
      const { taskId } = held.task;
      const tasks = new ModernClient(server.fetch, { capabilities: ABLE_WITH_TASKS });
      const before = await tasks.result("tasks/get", { taskId });
      assert.equal(before["status"], "input_required");
      await tasks.result("tasks/update", { taskId, inputResponses: { only: accept("here") } });
      const after = await tasks.result("tasks/get", { taskId });
      assert.equal(after["status"], "completed");
      assert.match(JSON.stringify(after["result"]), /task: here/);
      const params = {
        name: "question",
        ...held.ada,
        inputResponses: { only: accept("chess") },
      };
      const refused = await new ModernClient(server.fetch).error("tools/call", params);
      assert.match(refused!.message, /its requestState is not valid/);
      await server.close();
      const guarded = serve({ principal: () => "ada" });
      const result = await new ModernClient(guarded.fetch).result("tools/call", params);
      assert.equal(text(result), "ada: chess");
      assert.ok(!world.steps.some((key) => key.endsWith(":begin:0")), "its step was on record");
    }));

  it("opens a state that holds the whole record, sealed under a passphrase", () =>
    withFormerStore(async ({ world, held, clock }) => {
      const { passphrase, requestState } = held.carried;
      const sealer = new Sealer(passphrase);
      const server = createParley({ serve: makeTools(world), clock, state: "sealed", sealer });
      const result = await new ModernClient(server.fetch).result("tools/call", {
        name: "carried",
        arguments: {},
        requestState,
        inputResponses: { second: accept("loud") },
      });
      assert.match(text(result), /^hush, loud, done, [0-9a-f-]{36}$/);
      assert.deepEqual(world.steps, [], "its step was on record");
      await server.close();
    }));

  it("holds no secret in clear text", () => {
    const { folder, remove } = copyFormerStore();
    try {
      for (const file of ["calls.db", "held-by-clients.json"]) {
        const bytes = readFileSync(join(folder, file));
        for (const secret of ["4929-1234", "hush"]) assert.ok(!bytes.includes(secret), file);
      }
    } finally {
      remove();
    }
  });
});

function assertOrder(text: string, madeAt: number): void {
  const { made, ...order } = JSON.parse(text);
  assert.deepEqual(order, {
    card: "4929-1234",
    paid: "paid",
    refused: "refused",
    confirm: "yes",
    shipped: "shipped",
  });
  assert.match(made.id, /^[0-9a-f-]{36}$/);
  assert.ok(made.luck >= 0 && made.luck < 1);
  assert.ok(made.at >= madeAt && made.at < madeAt + HOUR / 2, "the time on record");
}
