import assert from "node:assert/strict";
import { z } from "zod";
import { createMcpTool, testTool } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

describe("createMcpTool()", () => {
  it("keeps everything that the author set", () => {
    const annotations = { readOnlyHint: true, openWorldHint: false };
    const icons = [{ src: "https://example.com/i.png", sizes: ["48x48"] }];
    const requires = { elicitation: true, sampling: "tools" } as const;
    const limits = { maxDepth: 2, maxTokens: 100, timeout: 5_000 };
    const tool = createMcpTool("greet")
      .description("Greets.")
      .title("Greeting")
      .annotations(annotations)
      .icons(icons)
      .parameters(z.object({ name: z.string() }))
      .requires(requires)
      .limits(limits)
      .execute(function* ({ name }) {
        return `Hello, ${name}!`;
      });
    assert.equal(tool.kind, "tool");
    assert.equal(tool.name, "greet");
    assert.equal(tool.description, "Greets.");
    assert.equal(tool.title, "Greeting");
    assert.deepEqual(tool.annotations, annotations);
    assert.deepEqual(tool.icons, icons);
    assert.deepEqual(tool.requires, requires);
    assert.deepEqual(tool.limits, limits);
    assert.equal(tool.output, undefined);
    assert.equal(tool.elicits.size, 0);
    assert.deepEqual(tool.parameters.json["required"], ["name"]);
  });

  it("leaves out what the author left out", () => {
    const tool = createMcpTool("bare").description("Does nothing.").execute(function* () {});
    for (const key of ["title", "annotations", "icons", "output"]) assert.ok(!(key in tool), key);
    assert.deepEqual(tool.requires, {});
    assert.deepEqual(tool.limits, {});
  });

  it("accepts an empty object if there are no parameters", async () => {
    const tool = createMcpTool("bare").description("Does nothing.").execute(function* (params) {
      return Object.keys(params).length;
    });
    assert.equal(tool.parameters.json["type"], "object");
    assert.equal((await testTool(tool, {})).text, "0");
    const stray = await testTool(tool, { stray: 1 } as unknown as Record<string, never>);
    assert.equal(stray.result.isError, true);
  });

  it("accepts every kind of name that MCP allows", () => {
    for (const name of ["a", "A-b_c.d9", "x".repeat(128)]) {
      const tool = createMcpTool(name).description("d").execute(function* () {});
      assert.equal(tool.name, name);
    }
  });

  it("returns immutable builders, so that half a tool can be shared", async () => {
    const half = createMcpTool("half")
      .description("Says something.")
      .parameters(z.object({ name: z.string() }));
    const loud = half.title("Loud").limits({ timeout: 1 });
    const one = half.execute(function* ({ name }) {
      return `one ${name}`;
    });
    const two = loud.execute(function* ({ name }) {
      return `two ${name}`;
    });
    const three = half.output(z.object({ n: z.number() })).execute(function* () {
      return { n: 3 };
    });
    assert.equal(one.title, undefined);
    assert.equal(two.title, "Loud");
    assert.deepEqual([one.limits, two.limits], [{}, { timeout: 1 }]);
    assert.equal(one.output, undefined);
    assert.equal((await testTool(one, { name: "x" })).text, "one x");
    assert.equal((await testTool(two, { name: "x" })).text, "two x");
    assert.deepEqual((await testTool(three, { name: "x" })).structured, { n: 3 });
  });

  it("builds any number of tools from one builder", async () => {
    const half = createMcpTool("half").description("d");
    const tools = [1, 2, 3].map((n) =>
      half.execute(function* () {
        return n;
      })
    );
    assert.deepEqual(
      await Promise.all(tools.map(async (tool) => (await testTool(tool, {})).text)),
      ["1", "2", "3"],
    );
  });

  it("accepts a plain function that returns an operation", async () => {
    function* answer() {
      return "42";
    }
    const tool = createMcpTool("plain").description("d").execute(() => answer());
    assert.equal((await testTool(tool, {})).text, "42");
  });

  it("keeps the sensitive fields and the context of a question", () => {
    const tool = createMcpTool("login").description("Logs in.")
      .elicits({
        login: {
          response: z.object({ user: z.string(), password: z.string() }),
          context: z.object({ site: z.string() }),
          sensitive: ["password"],
        },
        confirm: { response: z.object({ ok: z.boolean() }) },
      })
      .execute(function* () {});
    assert.deepEqual([...tool.elicits.keys()], ["login", "confirm"]);
    assert.deepEqual(tool.elicits.get("login")!.sensitive, ["password"]);
    assert.deepEqual(tool.elicits.get("login")!.context!.json["required"], ["site"]);
    assert.deepEqual(tool.elicits.get("confirm")!.sensitive, []);
    assert.equal(tool.elicits.get("confirm")!.context, undefined);
  });
});
