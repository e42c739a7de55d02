import assert from "node:assert/strict";
import { all } from "effection";
import { createMcpTool, ProtocolError, ToolError } from "parley-mcp";
import { z } from "zod";
import {
  ABLE_WITH_TASKS,
  accept,
  asked,
  TASKS,
  TestClient,
  textOf,
} from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const form = { response: z.object({ n: z.int() }) };

interface Kit extends TestServer {
  readonly client: TestClient;
  readonly gate: Gate;
  readonly done: string[];
  get(taskId: string): ReturnType<TestClient["result"]>;
}

function tools(gate: Gate, done: string[]) {
  const job = createMcpTool("job").description("Takes long")
    .parameters(z.object({ end: z.enum(["well", "badly", "broken"]).default("well") }))
    .task({ ttl: 60_000, pollInterval: 500 })
    .execute(function* ({ end }) {
      try {
        done.push("began");
        yield* gate.pass();
        if (end === "badly") throw new ToolError("It went badly");
        if (end === "broken") throw new ProtocolError(-32603, "It broke", { part: 1 });
        return "It went well";
      } finally {
        done.push("cleaned up");
      }
    });
  const asking = createMcpTool("asking").description("Asks while it works")
    .task().elicits({ a: form, b: form })
    .execute(function* (_params, ctx) {
      const answers = yield* all([
        ctx.elicit("a", { message: "a?" }),
        ctx.elicit("b", { message: "b?" }),
      ]);
      return answers.map((answer) => answer.action === "accept" ? answer.content.n : "-").join();
    });
  const insisting = createMcpTool("insisting").description("Runs only as a task")
    .task({ required: true })
    .execute(function* () {
      yield* gate.pass();
      return "insisted";
    });
  const told = createMcpTool("told").description("Asks first, then becomes a task")
    .task({ start: "when_told", ttl: 1_000 }).elicits({ a: form })
    .execute(function* (_params, ctx) {
      yield* ctx.elicit("a", { message: "a?" });
      yield* ctx.startTask();
      done.push("began");
      yield* gate.pass();
      return "told";
    });
  return [job, asking, insisting, told];
}

function testing(body: (kit: Kit) => Promise<void>): () => Promise<void> {
  return () => {
    const gate = new Gate();
    const done: string[] = [];
    const principal = (request: Request) => request.headers.get("authorization") ?? "nobody";
    return serving({ serve: tools(gate, done), principal }, async (server) => {
      const client = new TestClient(server.fetch, { capabilities: ABLE_WITH_TASKS });
      const get = (taskId: string) => client.result("tasks/get", { taskId });
      await body({ ...server, client, gate, done, get });
    });
  };
}

describe("a tool that runs as a task", () => {
  it(
    "becomes a task at once, which outlives the request and keeps its result",
    testing(async ({ client, gate, get, clock, parley }) => {
      const created = await client.call("job");
      const { taskId, _meta, ...rest } = created;
      assert.deepEqual(rest, {
        resultType: "task",
        status: "working",
        createdAt: new Date(clock.now()).toISOString(),
        lastUpdatedAt: new Date(clock.now()).toISOString(),
        ttlMs: 60_000,
        pollIntervalMs: 500,
      });
      clock.advance(10_000);
      assert.equal((await get(taskId)).status, "working");
      gate.open();
      const { status, result, createdAt, lastUpdatedAt } = await get(taskId);
      assert.equal(status, "completed");
      assert.equal(textOf(result), "It went well");
      assert.equal(createdAt, created.createdAt);
      assert.equal(Date.parse(lastUpdatedAt), clock.now());
      assert.deepEqual(await get(taskId), await get(taskId));
      assert.equal(parley.counts.live, 0);
    }),
  );

  it(
    "is completed even if the tool reports an error, and failed only by a protocol error",
    testing(async ({ client, gate, get }) => {
      const badly = await client.call("job", { end: "badly" });
      const broken = await client.call("job", { end: "broken" });
      gate.open();
      const one = await get(badly.taskId);
      assert.equal(one.status, "completed");
      assert.equal(one.result.isError, true);
      const two = await get(broken.taskId);
      assert.equal(two.status, "failed");
      assert.deepEqual(two.error, { code: -32603, message: "It broke", data: { part: 1 } });
      assert.equal(two.statusMessage, "It broke");
      assert.equal("result" in two, false);
    }),
  );

  it(
    "that has ended before it could become a task is answered as usual",
    testing(async ({ client, gate, parley }) => {
      gate.open();
      assert.equal(textOf(await client.call("job")), "It went well");
      const wrong = await client.call("job", { end: "never" });
      assert.equal(wrong.isError, true);
      assert.equal(parley.counts.finished, 0);
    }),
  );

  it(
    "is answered as usual for a client that does not know tasks, unless it insists",
    testing(async ({ fetch, gate }) => {
      const plain = new TestClient(fetch);
      const exchange = await plain.start("tools/call", { name: "insisting" });
      assert.equal(exchange.status, 400);
      const [{ error } = {}] = await exchange.rest();
      assert.equal(error.code, -32021);
      assert.deepEqual(error.data.requiredCapabilities, { extensions: { [TASKS]: {} } });
      gate.open();
      assert.equal(textOf(await plain.call("job")), "It went well");
    }),
  );

  it(
    "ignores the task requests of an older revision",
    testing(async ({ fetch, gate }) => {
      gate.open();
      const old = new TestClient(fetch, { capabilities: { tasks: { requests: {} } } });
      const params = { name: "job", arguments: {}, task: { ttl: 5 } };
      assert.equal(textOf(await old.result("tools/call", params)), "It went well");
    }),
  );
});

describe("tasks/update", () => {
  it(
    "accepts answers one by one, and ignores those that nobody waits for",
    testing(async ({ client, get }) => {
      const { taskId } = await client.call("asking");
      await idle();
      const first = await get(taskId);
      assert.equal(first.status, "input_required");
      assert.deepEqual(Object.keys(first.inputRequests), ["a", "b"]);
      const update = async (inputResponses: object) => {
        const ack = await client.result("tasks/update", { taskId, inputResponses });
        assert.deepEqual(Object.keys(ack).sort(), ["_meta", "resultType"]);
      };
      await update({ a: accept({ n: 1 }) });
      assert.deepEqual(Object.keys((await get(taskId)).inputRequests), ["b"]);
      await update({ a: accept({ n: 9 }), nobody: accept({}), toString: 1 });
      await update({});
      assert.deepEqual(Object.keys((await get(taskId)).inputRequests), ["b"]);
      await update({ b: accept({ n: "two" }) });
      await idle();
      const again = await get(taskId);
      assert.deepEqual(Object.keys(again.inputRequests), ["b_2"]);
      assert.match(again.inputRequests.b_2.params.message, /could not be used/);
      await update({ b_2: accept({ n: 2 }), b: accept({ n: 3 }) });
      await until(() => true);
      await idle();
      const { status, result } = await get(taskId);
      assert.equal(status, "completed");
      assert.equal(textOf(result), "1,2");
      await update({ b_2: accept({ n: 7 }) });
    }),
  );

  it(
    "refuses answers that are not an object",
    testing(async ({ client }) => {
      const { taskId } = await client.call("asking");
      for (const inputResponses of [undefined, null, [], 1]) {
        const { code } = await client.error("tasks/update", { taskId, inputResponses });
        assert.equal(code, -32602);
      }
    }),
  );
});

describe("tasks/cancel", () => {
  it(
    "halts the tool, and is acknowledged every time",
    testing(async ({ client, get, done, parley }) => {
      const { taskId } = await client.call("job");
      for (let times = 0; times < 3; times++) {
        const ack = await client.result("tasks/cancel", { taskId });
        assert.deepEqual(Object.keys(ack).sort(), ["_meta", "resultType"]);
      }
      await until(() => parley.counts.live === 0);
      assert.deepEqual(done, ["began", "cleaned up"]);
      const { status, statusMessage } = await get(taskId);
      assert.deepEqual([status, statusMessage], ["cancelled", "cancelled by the client"]);
    }),
  );

  it(
    "changes nothing about a task that has ended",
    testing(async ({ client, gate, get }) => {
      const { taskId } = await client.call("job");
      gate.open();
      const ended = await get(taskId);
      await client.result("tasks/cancel", { taskId });
      assert.deepEqual(await get(taskId), ended);
    }),
  );

  it(
    "withdraws the questions of a task",
    testing(async ({ client, get, parley }) => {
      const { taskId } = await client.call("asking");
      await idle();
      await client.result("tasks/cancel", { taskId });
      await until(() => parley.counts.live === 0);
      const task = await get(taskId);
      assert.equal(task.status, "cancelled");
      assert.equal("inputRequests" in task, false);
    }),
  );
});

describe("a task's time to live", () => {
  it(
    "ends a running task, and then forgets it",
    testing(async ({ client, get, clock, done, parley }) => {
      const { taskId } = await client.call("job");
      clock.advance(59_999);
      assert.equal((await get(taskId)).status, "working");
      clock.advance(1);
      await until(() => parley.counts.live === 0);
      assert.deepEqual(done, ["began", "cleaned up"]);
      const task = await get(taskId);
      assert.deepEqual([task.status, task.statusMessage], [
        "cancelled",
        "its time to live is over",
      ]);
      clock.advance(60_000);
      assert.equal(parley.counts.finished, 0);
      assert.equal((await client.error("tasks/get", { taskId })).code, -32602);
    }),
  );

  it(
    "keeps the result of a task that has ended, even if nobody reads it",
    testing(async ({ client, gate, get, clock, parley }) => {
      const { taskId } = await client.call("asking");
      await idle();
      gate.open();
      clock.advance(3_599_999);
      assert.equal((await get(taskId)).status, "input_required");
      const inputResponses = { a: accept({ n: 1 }), b: accept({ n: 2 }) };
      await client.result("tasks/update", { taskId, inputResponses });
      await until(() => parley.counts.live === 0);
      clock.advance(59_999);
      assert.equal((await get(taskId)).status, "completed");
      clock.advance(1);
      assert.equal((await client.error("tasks/get", { taskId })).code, -32602);
    }),
  );
});

describe("a tool that decides when its task begins", () => {
  const answer = { a: accept({ n: 1 }) };

  it(
    "asks in the call itself first, and is a task from then on",
    testing(async ({ client, gate, get, clock }) => {
      const first = await client.call("told");
      assert.deepEqual(asked(first), ["a"]);
      assert.equal("taskId" in first, false);
      // Long after the call, but its time to live begins now.
      clock.advance(3_000_000);
      const { requestState } = first;
      const task = await client.call("told", {}, { requestState, inputResponses: answer });
      assert.equal(task.resultType, "task");
      assert.equal(Date.parse(task.createdAt), clock.now());
      clock.advance(999);
      assert.equal((await get(task.taskId)).status, "working");
      gate.open();
      assert.equal(textOf((await get(task.taskId)).result), "told");
    }),
  );

  it(
    "becomes one task that lives once, however often the retry is sent",
    testing(async ({ client, get, clock, done, parley }) => {
      const { requestState } = await client.call("told");
      const retry = { requestState, inputResponses: answer };
      const tasks = await Promise.all([1, 2, 3].map(() => client.call("told", {}, retry)));
      assert.equal(new Set(tasks.map(({ taskId }) => taskId)).size, 1);
      const [{ taskId }] = tasks;
      clock.advance(500);
      const again = await client.call("told", {}, retry);
      assert.equal(again.createdAt, tasks[0].createdAt);
      assert.deepEqual(done, ["began"]);
      clock.advance(500);
      await until(() => parley.counts.live === 0);
      assert.equal((await get(taskId)).status, "cancelled");
    }),
  );

  it(
    "is an ordinary call for a client that does not know tasks",
    testing(async ({ fetch, gate }) => {
      const plain = new TestClient(fetch);
      const { requestState } = await plain.call("told");
      gate.open();
      const done = await plain.call("told", {}, { requestState, inputResponses: answer });
      assert.equal(textOf(done), "told");
    }),
  );

  it(
    "cannot be found as a task before that",
    testing(async ({ client, parley, fetch }) => {
      await client.call("told");
      await new TestClient(fetch).call("told");
      assert.equal(parley.counts.live, 2);
      assert.equal((await client.error("tasks/get", { taskId: "told" })).code, -32602);
    }),
  );
});

describe("another principal's task", () => {
  it(
    "is not found by any method",
    testing(async ({ client, fetch, get }) => {
      const { taskId } = await client.call("job");
      const eve = new TestClient(fetch, {
        capabilities: ABLE_WITH_TASKS,
        headers: { authorization: "eve" },
      });
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const mine = await eve.error(method, { taskId, inputResponses: {} });
        const none = await eve.error(method, { taskId: "no such task", inputResponses: {} });
        assert.deepEqual(mine, none);
        assert.equal(mine.code, -32602);
      }
      assert.equal((await get(taskId)).status, "working");
    }),
  );
});
