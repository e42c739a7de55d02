import assert from "node:assert/strict";
import { createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import { z } from "zod";
import type { Exchange } from "../../support/exchange.ts";
import { ABLE_WITH_TASKS, accept, TestClient } from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { echo } from "../../support/tools.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

const news = createMcpResource("news").uri("news://today").read(function* () {
  return "Nothing new";
});
const archive = createMcpResource("archive").uri("news://{day}").read(function* () {
  return "Nothing old";
});
const hello = createMcpPrompt("hello").description("Says hello").execute(function* () {
  return "Hello";
});
const changes = createMcpTool("changes").description("Changes things")
  .execute(function* (_params, ctx) {
    yield* ctx.listChanged("prompts");
    yield* ctx.resourceUpdated("news://today");
    return "changed";
  });

function testing(
  body: (server: TestServer & { client: TestClient }) => Promise<void>,
): () => Promise<void> {
  return () =>
    serving({ serve: [echo, changes, news, archive, hello] }, async (server) => {
      await body({ ...server, client: new TestClient(server.fetch) });
    });
}

async function listen(client: TestClient, notifications: object, id?: string): Promise<Exchange> {
  const exchange = await client.start(
    "subscriptions/listen",
    { notifications },
    id === undefined ? {} : { id },
  );
  assert.equal(exchange.isStream, true);
  return exchange;
}

const ACK = "notifications/subscriptions/acknowledged";
const EVERYTHING = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["news://today"],
};

describe("subscriptions/listen", () => {
  it(
    "first acknowledges what it will report, and no more than the server has",
    testing(async ({ client }) => {
      const wanted: [object, object][] = [
        [EVERYTHING, EVERYTHING],
        [{}, {}],
        [{ toolsListChanged: false, promptsListChanged: "yes" }, {}],
        [{ resourceSubscriptions: ["news://today", "news://today", "x://y", "news://1"] }, {
          resourceSubscriptions: ["news://today", "news://1"],
        }],
        [{ resourceSubscriptions: [1], unheardOf: true }, {}],
      ];
      for (const [asked, agreed] of wanted) {
        const stream = await listen(client, asked);
        const { params } = await stream.expect(ACK);
        assert.deepEqual(params.notifications, agreed);
        assert.equal(params._meta[SUBSCRIPTION_ID], stream.id);
        await stream.leave();
      }
    }),
  );

  it("omits what the server does not have", async () => {
    await serving({ serve: [hello] }, async ({ fetch }) => {
      const stream = await listen(new TestClient(fetch), EVERYTHING);
      const { params } = await stream.expect(ACK);
      assert.deepEqual(params.notifications, { promptsListChanged: true });
      await stream.leave();
    });
  });

  it(
    "refuses an invalid filter",
    testing(async ({ client }) => {
      for (const notifications of [undefined, null, [], "all"]) {
        const { code } = await client.error("subscriptions/listen", { notifications });
        assert.equal(code, -32602);
      }
    }),
  );

  it(
    "sends every listener what it asked for, under its own id, and nothing else",
    testing(async ({ client, parley }) => {
      const streams = await Promise.all([
        listen(client, { toolsListChanged: true }, "tools"),
        listen(client, { promptsListChanged: true }, "prompts"),
        listen(client, { resourceSubscriptions: ["news://today"] }, "news"),
        listen(client, EVERYTHING, "everything"),
        listen(client, {}, "nothing"),
      ]);
      for (const stream of streams) await stream.expect(ACK);
      assert.equal(parley.counts.streams, 5);
      await client.call("changes");
      parley.add(createMcpTool("more").description("One more").execute(function* () {}));
      parley.resourceUpdated("news://yesterday");
      assert.equal(parley.remove("resource", "archive"), true);
      const heard = async (stream: Exchange, count: number) => {
        const methods: string[] = [];
        while (methods.length < count) {
          const message = await stream.message();
          assert.equal(message?.params._meta[SUBSCRIPTION_ID], stream.id);
          methods.push(message!.method!.replace("notifications/", ""));
        }
        return methods.sort().join();
      };
      const [tools, prompts, updates, everything] = streams;
      assert.equal(await heard(tools, 1), "tools/list_changed");
      assert.equal(await heard(prompts, 1), "prompts/list_changed");
      assert.equal(await heard(updates, 1), "resources/updated");
      assert.equal(
        await heard(everything, 4),
        "prompts/list_changed,resources/list_changed,resources/updated,tools/list_changed",
      );
      await parley.close();
      for (const stream of streams) {
        const [last, ...more] = await stream.rest();
        assert.deepEqual(more, [], "and nothing else");
        assert.equal(last?.id, stream.id);
        assert.equal(last?.result.resultType, "complete");
        assert.equal(last?.result._meta[SUBSCRIPTION_ID], stream.id);
      }
    }),
  );

  it(
    "leaves nothing behind when the client goes away",
    testing(async ({ client, parley }) => {
      const streams = await Promise.all(
        Array.from({ length: 20 }, () => listen(client, EVERYTHING)),
      );
      assert.equal(parley.counts.streams, 20);
      for (const stream of streams) await stream.leave();
      await until(() => parley.counts.streams === 0);
      parley.resourceUpdated("news://today");
    }),
  );

  it(
    "sends heartbeats, and nothing else in a silence",
    testing(async ({ client, clock }) => {
      const stream = await listen(client, {});
      await stream.expect(ACK);
      for (let times = 0; times < 3; times++) {
        const frame = stream.frame();
        await idle();
        clock.advance(8_000);
        assert.deepEqual(await frame, { comment: "keep-alive" });
      }
      await stream.leave();
    }),
  );

  it(
    "sends a slow reader each change once, and disconnects it after 30 s",
    testing(async ({ client, parley, clock, watch }) => {
      const stream = await listen(client, EVERYTHING);
      await stream.expect(ACK);
      await idle();
      for (let times = 0; times < 5_000; times++) {
        parley.resourceUpdated("news://today");
        if (times % 1_000 === 0) await client.call("changes");
      }
      await stream.expect("notifications/resources/updated");
      await stream.expect("notifications/prompts/list_changed");
      assert.equal(parley.counts.streams, 1);
      parley.resourceUpdated("news://today");
      await idle();
      clock.advance(30_000);
      await until(() => parley.counts.streams === 0);
      watch.complaints.length = 0;
      await stream.leave();
    }),
  );

  it("is refused when there are too many streams, or the server closes", async () => {
    await serving({ serve: [echo], limits: { maxStreams: 1 } }, async ({ fetch, parley }) => {
      const client = new TestClient(fetch);
      const first = await listen(client, {});
      await first.expect(ACK);
      const second = await client.start("subscriptions/listen", { notifications: {} });
      assert.equal(second.status, 503);
      assert.equal(second.response.headers.get("retry-after"), "5");
      assert.equal((await second.rest())[0]?.id, second.id);
      await parley.close();
      assert.equal((await first.rest()).at(-1)?.result.resultType, "complete");
      const third = await client.start("subscriptions/listen", { notifications: {} });
      assert.equal(third.status, 503);
      await third.rest();
    });
  });
});

describe("listening for tasks", () => {
  const form = { response: z.object({ n: z.int() }) };
  const gate = () => new Gate();

  function job(gate: Gate) {
    return createMcpTool("job").description("Takes long").task().elicits({ a: form })
      .execute(function* (_params, ctx) {
        yield* ctx.log("info", "not for listeners");
        yield* gate.pass();
        const answer = yield* ctx.elicit("a", { message: "a?" });
        yield* ctx.notify("nor this");
        return answer.action;
      });
  }

  it("reports each state of a task as tasks/get does, and its end", async () => {
    const work = gate();
    await serving({ serve: [job(work)] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: ABLE_WITH_TASKS });
      const { taskId } = await client.call("job");
      const stream = await listen(client, { taskIds: [taskId, taskId, "unknown"] });
      const { params } = await stream.expect(ACK);
      assert.deepEqual(params.notifications, { taskIds: [taskId] });
      const states: string[] = [];
      const next = async () => {
        const { params: state } = await stream.expect("notifications/tasks");
        const { _meta, ...told } = state;
        assert.equal(_meta[SUBSCRIPTION_ID], stream.id);
        states.push(told.status);
        return told;
      };
      await next();
      work.open();
      const asking = await next();
      const { resultType: _type, _meta, ...got } = await client.result("tasks/get", { taskId });
      assert.deepEqual(asking, got);
      await client.result("tasks/update", { taskId, inputResponses: { a: accept({ n: 1 }) } });
      let last = await next();
      if (last.status === "working") last = await next();
      assert.equal(last.result.content[0].text, "accept");
      assert.deepEqual([states[0], states[1], states.at(-1)], [
        "working",
        "input_required",
        "completed",
      ]);
      await stream.leave();
    });
  });

  it("reports nothing to another principal, and is refused without the extension", async () => {
    const work = gate();
    const principal = (request: Request) => request.headers.get("authorization") ?? "nobody";
    await serving({ serve: [job(work)], principal }, async ({ fetch }) => {
      const ada = new TestClient(fetch, { capabilities: ABLE_WITH_TASKS });
      const { taskId } = await ada.call("job");
      const eve = new TestClient(fetch, {
        capabilities: ABLE_WITH_TASKS,
        headers: { authorization: "eve" },
      });
      const stream = await listen(eve, { taskIds: [taskId] });
      assert.deepEqual((await stream.expect(ACK)).params.notifications, {});
      await stream.leave();
      const plain = new TestClient(fetch);
      const refusal = await plain.start("subscriptions/listen", {
        notifications: { taskIds: [taskId] },
      });
      assert.equal(refusal.status, 400);
      assert.equal((await refusal.rest())[0]?.error.code, -32021);
      await ada.result("tasks/cancel", { taskId });
    });
  });
});
