import assert from "node:assert/strict";
import { run, until } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  createParley,
  InMemoryToolSessionStore,
  type ParleyOptions,
  Sealer,
  type ToolSessionStore,
} from "../../src/mod.ts";
import { type Life, living } from "../support/life.ts";
import { ABLE_WITH_TASKS, TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";

const name = { response: z.object({ name: z.string() }) };
const answer = (name: string) => ({ action: "accept", content: { name } });

/** The tool's effects on the outside world, and a way to delay them. */
class World {
  readonly paid: string[] = [];
  gate: Promise<void> | undefined;
  paying: (() => void) | undefined;
}

function orderTool(world: World) {
  return createMcpTool("order").description("d").durable().elicits({ who: name, gift: name })
    .execute(function* (_params, ctx) {
      const who = yield* ctx.elicit("who", { message: "Who?" });
      if (who.action !== "accept") return "nobody";
      yield* ctx.step("pay", function* (key) {
        world.paying?.();
        if (world.gate) yield* until(world.gate);
        world.paid.push(key);
      });
      const gift = yield* ctx.elicit("gift", { message: "What?" });
      return gift.action === "accept" ? `${gift.content.name} for ${who.content.name}` : "";
    });
}

interface Round {
  readonly resultType: string;
  readonly requestState: string;
  readonly inputRequests: Record<string, unknown>;
}

const CALL = { name: "order", arguments: {} };

function client(life: Life, options = {}): TestClient {
  return new TestClient((request) => life.parley.fetch(request), options);
}

async function round(life: Life, retry: object = {}): Promise<Round> {
  return await client(life).result("tools/call", { ...CALL, ...retry }) as unknown as Round;
}

const first = (life: Life) => round(life);
const who = ({ requestState }: Round) => ({ requestState, inputResponses: { who: answer("Ada") } });
const gift = ({ requestState }: Round) => ({
  requestState,
  inputResponses: { gift: answer("a book") },
});

describe("a durable call of a modern client", () => {
  it("continues with another server and the same file, and pays once", () => {
    const world = new World();
    return living({ serve: [orderTool(world)] }, async (life) => {
      await life.start();
      const asked = await first(life);
      assert.deepEqual(Object.keys(asked.inputRequests), ["who"]);
      await life.start();
      const second = await round(life, who(asked));
      assert.deepEqual(Object.keys(second.inputRequests), ["gift"]);
      await life.start();
      const last = await round(life, gift(second));
      assert.match(JSON.stringify(last), /a book for Ada/);
      assert.deepEqual(await round(life, gift(second)), last, "the same retry again");
      await life.start();
      assert.deepEqual(await round(life, gift(second)), last, "and once more, from the file");
      assert.equal(world.paid.length, 1);
    });
  });

  it("that is running when its server stops is asked to retry, and continues with the next", () => {
    const world = new World();
    return living({ serve: [orderTool(world)] }, async (life) => {
      await life.start();
      const asked = await first(life);
      world.gate = new Promise(() => {});
      const paying = new Promise<void>((resolve) => world.paying = resolve);
      const waiting = client(life).start("tools/call", { ...CALL, ...who(asked) });
      await paying;
      world.gate = undefined;
      await life.stop();
      const response = await waiting;
      assert.equal(response.status, 503);
      assert.match(
        JSON.stringify(await response.rest()),
        /the server is shutting down; send the same request again/,
      );
      await life.start();
      assert.ok((await round(life, who(asked))).inputRequests["gift"]);
      assert.equal(world.paid.length, 1);
    });
  });

  it("whose answer could not be stored gets an error, and continues after a retry", () => {
    const world = new World();
    let full = false;
    const failing = (life: Life): ParleyOptions => {
      const store: ToolSessionStore = {
        get: (id) => life.stores.sessions.get(id),
        set: (id, entry) => life.stores.sessions.set(id, entry),
        take: (id) => life.stores.sessions.take(id),
        delete: (id) => life.stores.sessions.delete(id),
        read: (id, after) => life.stores.sessions.read(id, after),
        wakes: (limit, after) => life.stores.sessions.wakes(limit, after),
        sweep: (now) => life.stores.sessions.sweep(now),
        *append(id, events, change) {
          if (full) throw new Error("no space left on device");
          yield* life.stores.sessions.append(id, events, change);
        },
      };
      return { store, report: () => {} };
    };
    return living({ serve: [orderTool(world)] }, async (life) => {
      await life.start(failing(life));
      const asked = await first(life);
      full = true;
      const refused = await client(life).start("tools/call", { ...CALL, ...who(asked) });
      const said = JSON.stringify(await refused.rest());
      assert.match(said, /could not store this call; send the same request again/);
      assert.ok(!said.includes("no space left"), "the operator hears of that, not the client");
      const fresh = await client(life).start("tools/call", CALL);
      assert.match(JSON.stringify(await fresh.rest()), /could not store this call/);
      full = false;
      const second = await round(life, who(asked));
      assert.deepEqual(Object.keys(second.inputRequests), ["gift"]);
      assert.equal(world.paid.length, 1);
    });
  });
});

describe("a durable call over a store that two servers share", () => {
  /** Two servers that can both continue the call. */
  async function withTwo(
    body: (a: Life["parley"], b: Life["parley"]) => Promise<void>,
    world = new World(),
  ) {
    const options = {
      serve: [orderTool(world)],
      store: new InMemoryToolSessionStore(),
      sealer: new Sealer("the same key"),
      report: () => {},
    };
    const [a, b] = [createParley(options), createParley(options)];
    try {
      await body(a, b);
    } finally {
      await a.close();
      await b.close();
    }
  }
  const at = (parley: Life["parley"], retry: object = {}) => round({ parley } as Life, retry);

  it("moves back and forth between them", () =>
    withTwo(async (a, b) => {
      const second = await at(b, who(await at(a)));
      assert.match(JSON.stringify(await at(a, gift(second))), /a book for Ada/);
    }));

  it("is refused by the server that lost it, which then looks again", () =>
    withTwo(async (a, b) => {
      const asked = await at(a);
      await at(b, who(asked));
      const refused = await client({ parley: a } as Life).start("tools/call", {
        ...CALL,
        ...who(asked),
      });
      assert.match(
        JSON.stringify(await refused.rest()),
        /another server has taken over this call; send the same request again/,
      );
      assert.ok((await at(a, who(asked))).inputRequests["gift"]);
    }));

  it("tells the clients that wait at one server that the other has continued the call", () => {
    const world = new World();
    return withTwo(async (a, b) => {
      const asked = await at(a);
      world.gate = new Promise(() => {});
      const paying = new Promise<void>((resolve) => world.paying = resolve);
      const waiting = client({ parley: a } as Life).start("tools/call", { ...CALL, ...who(asked) });
      await paying;
      world.gate = undefined;
      const second = await at(b, who(asked));
      assert.match(JSON.stringify(await at(a, gift(second))), /a book for Ada/);
      const response = await waiting;
      assert.equal(response.status, 503);
      assert.match(
        JSON.stringify(await response.rest()),
        /another server has taken over the call; send the same request again/,
      );
    }, world);
  });
});

describe("a task of a durable tool", () => {
  it("is not revived for another principal", () => {
    const tool = createMcpTool("order").description("d").durable().task().elicits({ who: name })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("who", { message: "Who?" });
        return "done";
      });
    const principal = (request: Request) => request.headers.get("authorization") ?? "nobody";
    return living({ serve: [tool], principal }, async (life) => {
      const as = (authorization: string) =>
        client(life, { capabilities: ABLE_WITH_TASKS, headers: { authorization } });
      await life.start();
      const { taskId } = await as("me").result("tools/call", CALL) as { taskId: string };
      await life.start();
      const epoch = async () => (await run(() => life.stores.sessions.get(taskId)))!.epoch;
      const before = await epoch();
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const refused = await as("them").start(method, { taskId, inputResponses: {} });
        assert.match(JSON.stringify(await refused.rest()), /Cannot find the task/);
      }
      const listening = await as("them").start("subscriptions/listen", {
        notifications: { taskIds: [taskId] },
      });
      await listening.leave();
      assert.deepEqual([await epoch(), life.parley.counts.live], [before, 0]);
      const [mine] = await Promise.all([
        as("me").result("tasks/get", { taskId }),
        as("them").start("tasks/get", { taskId }).then((refused) => refused.rest()),
      ]);
      assert.equal(mine["status"], "input_required");
    });
  });

  it("survives a restart, asks the same questions, and ends", () => {
    const world = new World();
    const tool = createMcpTool("order").description("d").durable().task().elicits({ who: name })
      .execute(function* (_params, ctx) {
        const who = yield* ctx.elicit("who", { message: "Who?" });
        yield* ctx.step("pay", function* (key) {
          world.paid.push(key);
        });
        return who.action === "accept" ? `for ${who.content.name}` : "nobody";
      });
    return living({ serve: [tool] }, async (life) => {
      await life.start();
      const options = { capabilities: ABLE_WITH_TASKS };
      const { taskId } = await client(life, options).result("tools/call", CALL);
      await life.start();
      const got = await client(life, options).result("tasks/get", { taskId });
      assert.equal(got["status"], "input_required");
      await client(life, options).result("tasks/update", {
        taskId,
        inputResponses: { who: answer("Ada") },
      });
      await life.start();
      for (;;) {
        const task = await client(life, options).result("tasks/get", { taskId });
        if (task["status"] === "working") continue;
        assert.equal(task["status"], "completed");
        assert.match(JSON.stringify(task["result"]), /for Ada/);
        break;
      }
      assert.equal(world.paid.length, 1);
    });
  });
});
