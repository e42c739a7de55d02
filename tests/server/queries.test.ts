import assert from "node:assert/strict";
import { until } from "effection";
import { createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/legacy/client.ts";
import { serving } from "../support/legacy/server.ts";

const tool = (name: string) =>
  createMcpTool(name).description(`Does ${name}`).execute(function* () {
    return name;
  });
const prompt = (name: string) =>
  createMcpPrompt(name).description(`Says ${name}`).execute(function* () {
    return name;
  });
const resource = (name: string) =>
  createMcpResource(name).uri(`plain://${name}`).read(function* () {
    return name;
  });
const template = (name: string) =>
  createMcpResource(name).uri(`${name}://{key}`).read(function* ({ key }) {
    return key;
  });

const names = ["e", "d", "c", "b", "a"];

/** All pages of a list. */
async function pages(client: TestClient, method: string, key: string): Promise<string[][]> {
  const all: string[][] = [];
  let cursor: string | undefined;
  do {
    const { result } = await client.request(method, cursor === undefined ? {} : { cursor });
    all.push(result[key].map(({ name }: { name: string }) => name));
    cursor = result.nextCursor;
    assert.ok(all.length < 20, "the pages have no end");
  } while (cursor !== undefined);
  return all;
}

describe("a list", () => {
  it("comes in pages, in the order in which entries were added", () =>
    serving({
      serve: names.flatMap((n) => [tool(n), prompt(n), resource(n), template(`t${n}`)]),
      limits: { pageSize: 2 },
    }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const expected = [["e", "d"], ["c", "b"], ["a"]];
      for (const list of ["tools", "prompts", "resources"]) {
        assert.deepEqual(await pages(client, `${list}/list`, list), expected, list);
        assert.deepEqual(await pages(client, `${list}/list`, list), expected, list);
      }
      const templates = await pages(client, "resources/templates/list", "resourceTemplates");
      assert.deepEqual(templates, [["te", "td"], ["tc", "tb"], ["ta"]]);
    }));

  it("that fills its pages exactly has no empty page at the end", () =>
    serving({ serve: ["a", "b"].map(tool), limits: { pageSize: 2 } }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      assert.deepEqual(await pages(client, "tools/list", "tools"), [["a", "b"]]);
    }));

  it("may be empty", () =>
    serving({}, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      assert.deepEqual((await client.request("tools/list")).result, { tools: [] });
      assert.deepEqual((await client.request("prompts/list")).result, { prompts: [] });
      assert.deepEqual((await client.request("resources/list")).result, { resources: [] });
    }));

  it("can be continued after entries were added or removed", () =>
    serving({ serve: names.map(tool), limits: { pageSize: 2 } }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const { nextCursor: cursor } = (await client.request("tools/list")).result;
      parley.remove("tool", "e");
      parley.add(tool("f"));
      const { tools } = (await client.request("tools/list", { cursor })).result;
      assert.deepEqual(tools.map(({ name }: { name: string }) => name), ["c", "b"]);
    }));

  it("continues at the place of the last entry, if that entry was removed", () =>
    serving({ serve: names.map(tool), limits: { pageSize: 2 } }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const first = (await client.request("tools/list")).result;
      parley.remove("tool", first.tools.at(-1).name);
      const seen: string[] = first.tools.map(({ name }: { name: string }) => name);
      for (let cursor = first.nextCursor; cursor !== undefined;) {
        const { tools, nextCursor } = (await client.request("tools/list", { cursor })).result;
        seen.push(...tools.map(({ name }: { name: string }) => name));
        cursor = nextCursor;
      }
      assert.deepEqual(seen, names);
    }));

  it("refuses an invalid cursor", () =>
    serving({ serve: names.map(tool), limits: { pageSize: 2 } }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const { nextCursor } = (await client.request("tools/list")).result;
      for (const cursor of ["", "x", "e", `${nextCursor}=`, ` ${nextCursor}`, 5, {}, null]) {
        const { error } = await client.request("tools/list", { cursor });
        assert.equal(error?.code, -32602, `${cursor}`);
      }
    }));

  it("has the _meta of the author, and refuses reserved keys", () => {
    const meta = { "com.example/team": { id: 5 }, plain: true };
    const one = createMcpTool("one").description("x").meta(meta).execute(function* () {});
    const two = createMcpPrompt("two").description("x").meta(meta).execute(function* () {
      return "x";
    });
    const three = createMcpResource("three").uri("three://x").meta(meta).read(function* () {
      return "x";
    });
    const family = createMcpResource("four").uri("four://{x}").meta(meta).read(function* () {
      return "x";
    });
    for (
      const key of ["ui", "io.modelcontextprotocol/x", "modelcontextprotocol/x", "dev.mcp/x"]
    ) {
      assert.throws(
        () => createMcpTool("a").description("x").meta({ [key]: 1 }).execute(function* () {}),
        /Cannot define tool "a": the key ".+" of meta is reserved; use/,
      );
    }
    return serving({ serve: [one, two, three, family] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (
        const [method, list] of [
          ["tools/list", "tools"],
          ["prompts/list", "prompts"],
          ["resources/list", "resources"],
          ["resources/templates/list", "resourceTemplates"],
        ] as const
      ) {
        const { result } = await client.request(method);
        assert.deepEqual(result[list][0]._meta, meta, method);
      }
    });
  });

  it("includes the members that a template lists, each address once", () =>
    serving({
      serve: [
        resource("plain"),
        createMcpResource("family").uri("plain://{name}")
          .lists(function* () {
            yield* until(Promise.resolve());
            return ["x", "x", "plain", "y"].map((name) => ({ uri: `plain://${name}`, name }));
          })
          .read(function* ({ name }) {
            return name;
          }),
      ],
      limits: { pageSize: 1 },
    }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const all = await pages(client, "resources/list", "resources");
      assert.deepEqual(all, [["plain"], ["x"], ["y"]]);
    }));

  it("whose author's code throws is a fault of the server", () =>
    serving({
      serve: [
        createMcpResource("broken").uri("broken://{x}")
          .lists(function* () {
            throw new Error("secret details");
          })
          .read(function* () {
            return "";
          }),
      ],
    }, async ({ fetch, faults }) => {
      const client = await TestClient.connect(fetch);
      const { error } = await client.request("resources/list");
      assert.equal(error.code, -32603);
      assert.doesNotMatch(error.message, /secret/);
      assert.equal(faults.splice(0).length, 1);
    }));
});

describe("completion/complete", () => {
  const letters = Array.from({ length: 150 }, (_, i) => `v${i}`);
  const serve = [
    createMcpPrompt("prompt").description("d")
      .arguments(z.object({ one: z.string(), two: z.string(), three: z.string() }))
      .completes({
        *one(value) {
          return letters.filter((letter) => letter.startsWith(value));
        },
        *two(value, others) {
          yield* until(Promise.resolve());
          return [`${value}-${JSON.stringify(others)}`];
        },
      })
      .execute(function* () {
        return "text";
      }),
    createMcpResource("resource").uri("notes://{name}")
      .completes({
        *name() {
          return ["today"];
        },
      })
      .read(function* () {
        return "text";
      }),
  ];
  const complete = async (client: TestClient, ref: object, name: string, context?: object) => {
    const params = { ref, argument: { name, value: "v1" }, ...(context && { context }) };
    return await client.request("completion/complete", params);
  };
  const promptRef = { type: "ref/prompt", name: "prompt" };

  it("suggests a hundred values at most, and says whether there are more", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const params = { ref: promptRef, argument: { name: "one", value: "" } };
      const { completion } = (await client.request("completion/complete", params)).result;
      assert.deepEqual(completion, { values: letters.slice(0, 100), total: 150, hasMore: true });
      const fewer = (await complete(client, promptRef, "one")).result.completion;
      assert.deepEqual([fewer.total, fewer.hasMore], [61, false]);
    }));

  it("passes on the arguments that are filled in already, if they are text", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const values = async (context?: object) =>
        (await complete(client, promptRef, "two", context)).result.completion.values;
      assert.deepEqual(await values(), ["v1-{}"]);
      assert.deepEqual(await values({ arguments: { one: "x", three: 5 } }), ['v1-{"one":"x"}']);
      assert.deepEqual(await values({ arguments: null }), ["v1-{}"]);
    }));

  it("completes templates, and suggests nothing if the author gave nothing", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const ref = { type: "ref/resource", uri: "notes://{name}" };
      assert.deepEqual((await complete(client, ref, "name")).result.completion.values, ["today"]);
      for (const [ref, name] of [[promptRef, "three"], [promptRef, "other"]] as const) {
        const { completion } = (await complete(client, ref, name)).result;
        assert.deepEqual(completion, { values: [], total: 0, hasMore: false });
      }
    }));

  it("refuses an unknown reference", () =>
    serving({ serve }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (
        const ref of [
          { type: "ref/prompt", name: "other" },
          { type: "ref/resource", uri: "notes://today" },
          { type: "ref/tool", name: "prompt" },
        ]
      ) assert.equal((await complete(client, ref, "one")).error.code, -32602);
    }));
});
