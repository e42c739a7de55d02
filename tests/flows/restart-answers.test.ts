import assert from "node:assert/strict";
import { all, type Operation, until } from "effection";
import { z } from "zod";
import { createMcpTool } from "../../src/mod.ts";
import { ABLE, TestClient, textOf } from "../support/legacy/client.ts";
import { type Life, living } from "../support/life.ts";
import { ABLE_WITH_TASKS, TestClient as ModernClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";

// A revived tool may take a while until it reaches its question again. The client does not know
// that, and must not need to.

const name = { response: z.object({ name: z.string() }) };
const answer = (name: string) => ({ action: "accept", content: { name } });
const CALL = { name: "order", arguments: {} };

/** An outside resource that the tool reads, and that answers when the test says so. */
class Lookup {
  #open: (() => void) | undefined;
  #gate: Promise<void> | undefined;
  /** From here on it waits until it is opened. */
  shut(): void {
    this.#gate = new Promise((resolve) => this.#open = resolve);
  }

  open(): void {
    this.#gate = undefined;
    this.#open?.();
  }

  *look(): Operation<void> {
    if (this.#gate) yield* until(this.#gate);
  }
}

const words = (answer: { action: string; content?: { name: string } }) => answer.content?.name;

function builder() {
  return createMcpTool("order").description("d").durable().elicits({ who: name, gift: name });
}

function tool(lookup: Lookup) {
  return builder().execute(function* (_params, ctx) {
    const who = yield* ctx.elicit("who", { message: "Who?" });
    yield* lookup.look();
    const gift = yield* ctx.elicit("gift", { message: "What?" });
    return `${words(gift)} for ${words(who)}`;
  });
}

async function legacy(life: Life): Promise<TestClient> {
  return await TestClient.connect((request) => life.parley.fetch(request), { capabilities: ABLE });
}

function modern(life: Life, options = {}): ModernClient {
  return new ModernClient((request) => life.parley.fetch(request), options);
}

/** The session that a question belongs to; its id may contain underscores too. */
function sessionOf({ id }: { readonly id?: unknown }): string {
  return /^[a-z]+_(.+)_\d+$/.exec(String(id))![1]!;
}

describe("an answer that comes before a revived tool has reached its question", () => {
  it("is accepted from a legacy client, and used", () => {
    const lookup = new Lookup();
    return living({ serve: [tool(lookup)] }, async (life) => {
      await life.start();
      const client = await legacy(life);
      const call = await client.call("order");
      await client.answer(await call.expect("elicitation/create"), answer("Ada"));
      const gift = await call.expect("elicitation/create");
      lookup.shut();
      await life.start();
      assert.equal((await client.answer(gift, answer("tea"))).status, 202);
      assert.equal((await client.answer(gift, answer("tea"))).status, 202, "and once more");
      const resumed = await client.listen(call.lastEventId);
      lookup.open();
      assert.equal(textOf((await resumed.rest()).at(-1)!.result), "tea for Ada");
    });
  });

  it("is recorded at once: the next server has it", () => {
    const lookup = new Lookup();
    return living({ serve: [tool(lookup)] }, async (life) => {
      await life.start();
      const client = await legacy(life);
      const call = await client.call("order");
      await client.answer(await call.expect("elicitation/create"), answer("Ada"));
      const gift = await call.expect("elicitation/create");
      lookup.shut();
      await life.start();
      assert.equal((await client.answer(gift, answer("tea"))).status, 202);
      await life.start();
      const resumed = await client.listen(call.lastEventId);
      lookup.open();
      assert.equal(textOf((await resumed.rest()).at(-1)!.result), "tea for Ada");
    });
  });

  it("is used in whichever branch asks for it, in any order", () => {
    const lookup = new Lookup();
    const branches = builder().execute(function* (_params, ctx) {
      const [who, gift] = yield* all([
        ctx.branch((branch) => branch.elicit("who", { message: "Who?" })),
        ctx.branch(function* (branch) {
          yield* lookup.look();
          return yield* branch.elicit("gift", { message: "What?" });
        }),
      ]);
      return `${words(gift)} for ${words(who)}`;
    });
    return living({ serve: [branches] }, async (life) => {
      await life.start();
      const client = await legacy(life);
      const call = await client.call("order");
      const who = await call.expect("elicitation/create");
      const gift = await call.expect("elicitation/create");
      lookup.shut();
      await life.start();
      assert.equal((await client.answer(gift, answer("tea"))).status, 202);
      assert.equal((await client.answer(who, answer("Ada"))).status, 202);
      const resumed = await client.listen(call.lastEventId);
      lookup.open();
      assert.equal(textOf((await resumed.rest()).at(-1)!.result), "tea for Ada");
    });
  });

  it("is accepted from a modern client, and a retry without it is asked at once", () => {
    const lookup = new Lookup();
    return living({ serve: [tool(lookup)] }, async (life) => {
      await life.start();
      const first = await modern(life).result("tools/call", CALL);
      const second = await modern(life).result("tools/call", {
        ...CALL,
        requestState: first["requestState"],
        inputResponses: { who: answer("Ada") },
      });
      lookup.shut();
      await life.start();
      const { requestState } = second;
      const again = await modern(life).result("tools/call", { ...CALL, requestState });
      assert.deepEqual(Object.keys(again["inputRequests"] as object), ["gift"]);
      const last = modern(life).result("tools/call", {
        ...CALL,
        requestState,
        inputResponses: { gift: answer("tea") },
      });
      lookup.open();
      assert.match(JSON.stringify(await last), /tea for Ada/);
    });
  });

  it("is accepted for a task", () => {
    const lookup = new Lookup();
    const task = createMcpTool("order").description("d").durable().task().elicits({ who: name })
      .execute(function* (_params, ctx) {
        yield* lookup.look();
        return words(yield* ctx.elicit("who", { message: "Who?" })) ?? "nobody";
      });
    return living({ serve: [task] }, async (life) => {
      const options = { capabilities: ABLE_WITH_TASKS };
      await life.start();
      const { taskId } = await modern(life, options).result("tools/call", CALL);
      lookup.shut();
      await life.start();
      const inputResponses = { who: answer("Ada") };
      await modern(life, options).result("tasks/update", { taskId, inputResponses });
      lookup.open();
      for (;;) {
        const got = await modern(life, options).result("tasks/get", { taskId });
        if (got["status"] === "working") continue;
        assert.equal(got["status"], "completed", JSON.stringify(got));
        assert.match(JSON.stringify(got), /Ada/);
        break;
      }
    });
  });
});

describe("a durable call that is cancelled", () => {
  /** Cleans up for as long as the test wants. */
  function slow(lookup: Lookup, task = false) {
    const base = createMcpTool("order").description("d").durable();
    return (task ? base.task() : base).elicits({ who: name })
      .execute(function* (_params, ctx) {
        try {
          yield* ctx.elicit("who", { message: "Who?" });
        } finally {
          yield* lookup.look();
        }
        return "it went on";
      });
  }

  const typesOf = async (life: Life, id: string) => {
    const { run } = await import("effection");
    return (await run(() => life.stores.sessions.read(id))).map(({ type }) => type);
  };

  it("is recorded as cancelled before that is acknowledged, in both eras", () => {
    const lookup = new Lookup();
    return living({ serve: [slow(lookup, true)] }, async (life) => {
      await life.start();
      const options = { capabilities: ABLE_WITH_TASKS };
      const { taskId } = await modern(life, options).result("tools/call", CALL);
      lookup.shut();
      await modern(life, options).result("tasks/cancel", { taskId });
      assert.ok((await typesOf(life, taskId as string)).includes("cancelling"));
      lookup.open();
    });
  });

  it("is recorded as cancelled before a legacy client's disconnect is acknowledged", () => {
    const lookup = new Lookup();
    return living({ serve: [slow(lookup)] }, async (life) => {
      await life.start();
      const client = await legacy(life);
      const call = await client.call("order");
      const who = await call.expect("elicitation/create");
      await life.start();
      lookup.shut();
      assert.equal((await client.end()).status, 204);
      assert.ok((await typesOf(life, sessionOf(who))).includes("cancelling"));
      lookup.open();
    });
  });

  it("is recorded as cancelled before a legacy client's notification is acknowledged", () => {
    const lookup = new Lookup();
    return living({ serve: [slow(lookup)] }, async (life) => {
      await life.start();
      const client = await legacy(life);
      const call = await client.call("order");
      const who = await call.expect("elicitation/create");
      lookup.shut();
      const { status } = await client.notify("notifications/cancelled", { requestId: call.id });
      assert.equal(status, 202);
      assert.ok((await typesOf(life, sessionOf(who))).includes("cancelling"));
      lookup.open();
      await call.leave();
    });
  });
});
