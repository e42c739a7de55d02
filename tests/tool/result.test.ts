import assert from "node:assert/strict";
import { z } from "zod";
import {
  type ContentBlock,
  createMcpTool,
  ProtocolError,
  testTool,
  ToolError,
  type ToolResult,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

/** What the caller and the operator get when the tool returns `value`. */
async function told(value: unknown, output?: z.ZodObject) {
  const half = createMcpTool("t").description("d");
  const tool = output
    ? half.output(output).execute(function* () {
      return value as Record<string, unknown>;
    })
    : half.execute(function* () {
      return value as string;
    });
  const { outcome, faults } = await testTool(tool, {});
  assert.equal(outcome.status, "completed");
  return { result: (outcome as unknown as { result: ToolResult }).result, faults };
}

async function resultOf(value: unknown, output?: z.ZodObject): Promise<ToolResult> {
  const { result, faults } = await told(value, output);
  assert.deepEqual(faults, []);
  return result;
}

/** The tool broke: the caller learns only that, the operator learns why. */
async function assertBroke(value: unknown, output?: z.ZodObject): Promise<void> {
  const { result, faults } = await told(value, output);
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent, undefined);
  assert.equal(faults.length, 1);
  const said = (result.content[0] as { text: string }).text;
  assert.ok(!said.includes((faults[0] as Error).message), said);
  JSON.stringify(result);
}

const text = (text: string): ContentBlock => ({ type: "text", text });

const circular: Record<string, unknown> = { name: "self" };
circular["self"] = circular;

describe("a result without output()", () => {
  it("is text if a string, a number or a boolean is returned", async () => {
    for (const value of ["hi", "", 7, 0, true, false]) {
      assert.deepEqual(await resultOf(value), { content: [text(String(value))] });
    }
  });

  it("is empty if nothing is returned", async () => {
    for (const value of [undefined, null]) assert.deepEqual(await resultOf(value), { content: [] });
  });

  it("is the returned blocks", async () => {
    const blocks: ContentBlock[] = [
      text("a"),
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "audio", data: "AA==", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///a", text: "a" } },
    ];
    assert.deepEqual(await resultOf(blocks), { content: blocks });
  });

  it("is JSON if an object or a list of data is returned", async () => {
    for (const value of [{ a: 1 }, [1, 2], [{ type: "train" }], { content: "a page" }]) {
      assert.deepEqual(await resultOf(value), { content: [text(JSON.stringify(value))] });
    }
    assert.deepEqual(await resultOf(new Date(0)), { content: [text(JSON.stringify(new Date(0)))] });
  });

  it("is the returned full result", async () => {
    const full = {
      content: [text("a")],
      structuredContent: { a: 1 },
      _meta: { "example.com/trace": "1" },
    };
    assert.deepEqual(await resultOf(full), full);
    const failed = { content: [text("no")], isError: true };
    assert.deepEqual(await resultOf(failed), failed);
  });

  it("reports a broken tool if the value cannot be JSON", async () => {
    for (const value of [circular, { n: 1n }, [circular]]) await assertBroke(value);
    await assertBroke({ content: [text("a")], structuredContent: circular });
    await assertBroke({ content: [text("a")], structuredContent: { n: 1n } });
    await assertBroke({ content: [text("a")], _meta: circular });
    await assertBroke([{ ...text("a"), _meta: circular }]);
    let deep: unknown = 1;
    for (let i = 0; i < 20_000; i++) deep = { deep };
    await assertBroke({ content: [], structuredContent: { deep } });
  });

  it("allows the same object twice, which is not a cycle", async () => {
    const shared = { a: 1 };
    const full = { content: [], structuredContent: { one: shared, two: [shared, shared] } };
    assert.deepEqual(await resultOf(full), full);
  });
});

describe("a result with output()", () => {
  const output = z.object({ total: z.number(), note: z.string().default("none") });

  it("is validated, and sent as data and as text", async () => {
    assert.deepEqual(await resultOf({ total: 3, stray: true }, output), {
      content: [text('{"total":3,"note":"none"}')],
      structuredContent: { total: 3, note: "none" },
    });
  });

  it("keeps the blocks of a full result, or generates them if there are none", async () => {
    const structuredContent = { total: 3, note: "n" };
    assert.deepEqual(await resultOf({ content: [text("three")], structuredContent }, output), {
      content: [text("three")],
      structuredContent,
    });
    assert.deepEqual(await resultOf({ content: [], structuredContent }, output), {
      content: [text(JSON.stringify(structuredContent))],
      structuredContent,
    });
  });

  it("lets a full result be an error", async () => {
    const failed = { content: [text("sold out")], isError: true };
    assert.deepEqual(await resultOf(failed, output), failed);
  });

  it("treats data with a field named content as data", async () => {
    const page = z.object({ content: z.array(z.object({ type: z.string(), text: z.string() })) });
    const value = { content: [text("a paragraph")] };
    assert.deepEqual(await resultOf(value, page), {
      content: [text(JSON.stringify(value))],
      structuredContent: value,
    });
    const titled = z.object({ content: z.string() });
    assert.deepEqual((await resultOf({ content: "a" }, titled)).structuredContent, {
      content: "a",
    });
  });

  it("reports a broken tool if the data does not fit the schema", async () => {
    for (const value of [{ total: "3" }, {}, null, undefined, "three", [text("a")]]) {
      await assertBroke(value, output);
    }
    await assertBroke({ content: [text("a")], structuredContent: { total: "3" } }, output);
  });

  it("reports a broken tool if the data cannot be JSON", async () => {
    const anything = z.object({ it: z.any() });
    for (const it of [circular, 1n]) {
      await assertBroke({ it }, anything);
      await assertBroke({ content: [text("a")], structuredContent: { it } }, anything);
    }
  });
});

describe("an error that a tool throws", () => {
  const throwing = (error: unknown) =>
    createMcpTool("t").description("d").execute(function* () {
      throw error;
    });

  it("goes to the model if it is a ToolError, and the session is completed", async () => {
    const { outcome, result, faults } = await testTool(throwing(new ToolError("no seats")), {});
    assert.equal(outcome.status, "completed");
    assert.deepEqual(result, { content: [text("no seats")], isError: true });
    assert.deepEqual(faults, []);
  });

  it("goes to the client if it is a ProtocolError, and the session has failed", async () => {
    const error = new ProtocolError(-32042, "log in first", { url: "https://example.com" });
    const { outcome, faults } = await testTool(throwing(error), {});
    assert.deepEqual(outcome, {
      status: "failed",
      error: { code: -32042, message: "log in first", data: { url: "https://example.com" } },
    });
    assert.deepEqual(faults, []);
    const bare = await testTool(throwing(new ProtocolError(-1, "m")), {});
    assert.deepEqual(bare.outcome, { status: "failed", error: { code: -1, message: "m" } });
  });

  it("goes to the operator only if it is any other error", async () => {
    for (const error of [new Error("secret"), new TypeError("secret"), "secret", { secret: 1 }]) {
      const { outcome, faults, events } = await testTool(throwing(error), {});
      assert.equal(outcome.status, "completed");
      assert.deepEqual(faults, [error]);
      assert.doesNotMatch(JSON.stringify([outcome, events]), /secret/);
      assert.equal((outcome as unknown as { result: ToolResult }).result.isError, true);
    }
  });

  it("is an error even if undefined is thrown", async () => {
    const { outcome } = await testTool(throwing(undefined), {});
    assert.equal((outcome as unknown as { result: ToolResult }).result.isError, true);
  });

  it("names the session, so that the operator finds it", async () => {
    let id = "";
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      id = ctx.sessionId;
      throw new Error("x");
    });
    const { outcome } = await testTool(tool, {});
    assert.ok(id !== "" && JSON.stringify(outcome).includes(id));
  });
});
