import assert from "node:assert/strict";
import { createMcpPrompt, createMcpResource, createMcpTool, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { TASKS, TestClient } from "../../support/modern/client.ts";
import { serving } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { echo } from "../../support/tools.ts";
import { until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const prompt = createMcpPrompt("p").description("A prompt").arguments(z.object({ x: z.string() }))
  .completes({
    *x(value) {
      return Array.from({ length: 120 }, (_, i) => `${value}${i}`);
    },
  })
  .execute(function* () {
    return "p";
  });
const page = createMcpResource("page").uri("page://{n}")
  .lists(function* () {
    return [{ uri: "page://1", name: "one" }];
  })
  .read(function* ({ n }) {
    return n;
  });

describe("server/discover", () => {
  const discover = async (options: ParleyOptions) => {
    let result;
    await serving(options, async ({ fetch }) => {
      result = await new TestClient(fetch).result("server/discover");
    });
    // deno-lint-ignore no-explicit-any
    return result as any;
  };

  it("describes what the server has, and no more", async () => {
    const some = await discover({
      serve: [echo],
      instructions: "Be kind",
      name: "n",
      version: "9",
    });
    assert.deepEqual(some.supportedVersions, ["2026-07-28"]);
    assert.deepEqual(some.capabilities, { tools: { listChanged: true }, logging: {} });
    assert.equal(some.instructions, "Be kind");
    assert.deepEqual(some._meta, {
      "io.modelcontextprotocol/serverInfo": { name: "n", version: "9" },
    });
    const task = createMcpTool("t").description("A task").task().execute(function* () {});
    const { capabilities } = await discover({ serve: [prompt, page, task] });
    assert.deepEqual(capabilities, {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      completions: {},
      logging: {},
      extensions: { [TASKS]: {} },
    });
    assert.deepEqual((await discover({})).capabilities, { logging: {} });
  });
});

describe("lists", () => {
  it("state how long they may be cached, and by whom", async () => {
    const methods = [
      "server/discover",
      "tools/list",
      "prompts/list",
      "resources/list",
      "resources/templates/list",
    ];
    const serve = [echo, prompt, page];
    await serving({ serve }, async ({ fetch }) => {
      for (const method of methods) {
        const { ttlMs, cacheScope } = await new TestClient(fetch).result(method);
        assert.deepEqual([ttlMs, cacheScope], [60_000, "public"]);
      }
    });
    const principal = () => "ada";
    await serving({ serve, principal, limits: { listTimeToLive: 0 } }, async ({ fetch }) => {
      for (const method of methods) {
        const { ttlMs, cacheScope } = await new TestClient(fetch).result(method);
        assert.deepEqual([ttlMs, cacheScope], [0, "private"]);
      }
    });
  });

  it("come in pages, all with the same cache hints", async () => {
    const tools = Array.from(
      { length: 5 },
      (_, i) => createMcpTool(`t${i}`).description("One of many").execute(function* () {}),
    );
    await serving({ serve: tools, limits: { pageSize: 2 } }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.result("tools/list", { ...(cursor && { cursor }) });
        assert.equal(page.cacheScope, "public");
        names.push(...page.tools.map(({ name }: { name: string }) => name));
        cursor = page.nextCursor;
      } while (cursor);
      assert.deepEqual(names, ["t0", "t1", "t2", "t3", "t4"]);
      assert.equal((await client.error("tools/list", { cursor: "nonsense" })).code, -32602);
    });
  });

  it("never ask for input, whatever they were sent", async () => {
    await serving({ serve: [echo] }, async ({ fetch }) => {
      const params = { inputResponses: 1, requestState: "x" };
      assert.equal(
        (await new TestClient(fetch).result("tools/list", params)).resultType,
        "complete",
      );
    });
  });
});

describe("resources/read", () => {
  it("may not be cached, and answers -32602 with the address that is missing", async () => {
    await serving({ serve: [page] }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      const read = await client.result("resources/read", { uri: "page://7" });
      assert.deepEqual([read.ttlMs, read.cacheScope], [0, "private"]);
      const { code, data } = await client.error("resources/read", { uri: "book://7" });
      assert.deepEqual([code, data], [-32602, { uri: "book://7" }]);
    });
  });
});

describe("completion/complete", () => {
  it("suggests a hundred values at most, and may not be cached", async () => {
    await serving({ serve: [prompt] }, async ({ fetch }) => {
      const { completion, ...rest } = await new TestClient(fetch).result("completion/complete", {
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "x", value: "a" },
      });
      assert.equal(completion.values.length, 100);
      assert.deepEqual([completion.total, completion.hasMore], [120, true]);
      assert.equal("ttlMs" in rest, false);
    });
  });
});

describe("a list that takes time", () => {
  const slow = (gate: Gate, done: string[]) =>
    createMcpResource("slow").uri("slow://{n}")
      .lists(function* () {
        try {
          yield* gate.pass();
          return [{ uri: "slow://1", name: "one" }];
        } finally {
          done.push("cleaned up");
        }
      })
      .read(function* () {
        return "";
      });

  it("is answered when it is ready", async () => {
    const gate = new Gate();
    await serving({ serve: [slow(gate, [])] }, async ({ fetch }) => {
      const call = new TestClient(fetch).result("resources/list");
      await until(() => gate.waiting === 1);
      gate.open();
      assert.equal((await call).resources.length, 1);
    });
  });

  it("is aborted when its client goes away", async () => {
    const gate = new Gate();
    const done: string[] = [];
    await serving({ serve: [slow(gate, done)] }, async ({ fetch }) => {
      const leaving = new AbortController();
      const { signal } = leaving;
      const call = new TestClient(fetch).start("resources/list", {}, { signal });
      await until(() => gate.waiting === 1);
      leaving.abort();
      await call.catch(() => {});
      assert.deepEqual(done, ["cleaned up"]);
    });
  });

  it("is answered with an error when the server closes", async () => {
    const gate = new Gate();
    const done: string[] = [];
    await serving({ serve: [slow(gate, done)] }, async ({ fetch, parley }) => {
      const call = new TestClient(fetch).error("resources/list");
      await until(() => gate.waiting === 1);
      await parley.close();
      assert.equal((await call).code, -32603);
      assert.deepEqual(done, ["cleaned up"]);
    });
  });
});

describe("a server that closes", () => {
  it("answers every running call, and accepts no more", async () => {
    const gate = new Gate();
    const works = createMcpTool("works").description("Works").execute(function* () {
      yield* gate.pass();
      return "worked";
    });
    await serving({ serve: [works] }, async ({ fetch, parley, clock }) => {
      const client = new TestClient(fetch);
      const streaming = client.start("tools/call", { name: "works" });
      await until(() => gate.waiting === 1);
      clock.advance(100);
      const deciding = client.start("tools/call", { name: "works" });
      await until(() => gate.waiting === 2);
      const closed = parley.close();
      for (const exchange of [await streaming, await deciding]) {
        const answer = (await exchange.rest()).at(-1);
        assert.equal(answer?.id, exchange.id);
        assert.match(answer?.error.message, /shutting down/);
      }
      await closed;
      assert.equal((await client.start("tools/list")).status, 503);
    });
  });

  it("answers that it is busy if there is no room for another call", async () => {
    const gate = new Gate();
    const works = createMcpTool("works").description("Works").task().execute(function* () {
      yield* gate.pass();
    });
    await serving({ serve: [works], limits: { maxSessions: 1 } }, async ({ fetch }) => {
      const capabilities = { extensions: { [TASKS]: {} } };
      const client = new TestClient(fetch, { capabilities });
      await client.call("works");
      const second = await client.start("tools/call", { name: "works" });
      assert.equal(second.status, 503);
      assert.equal((await second.rest())[0]?.id, second.id);
      gate.open();
    });
  });
});
