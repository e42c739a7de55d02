import assert from "node:assert/strict";
import { CapabilityError, createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { ABLE, TestClient, textOf } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask } from "../../support/tools.ts";

const sample = createMcpTool("sample").description("d").execute(function* (_params, ctx) {
  return (yield* ctx.sample({ prompt: "Say something" })).text;
});
const page = createMcpTool("page").description("d").execute(function* (_params, ctx) {
  const visit = yield* ctx.elicitUrl({ message: "Sign in", url: "https://a.example/in" });
  if (visit.action === "accept") yield* visit.complete();
  return visit.action;
});
const roots = createMcpTool("roots").description("d").execute(function* (_params, ctx) {
  return (yield* ctx.roots()).map(({ uri }) => uri).join();
});
const adaptable = createMcpTool("adaptable")
  .description("Does without where it must")
  .elicits({ number: { response: z.object({ number: z.number() }) } })
  .execute(function* (_params, ctx) {
    try {
      yield* ctx.elicit("number", { message: "?" });
      return "asked";
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      return `did without ${error.capability}`;
    }
  });
let ran = 0;
const strict = (name: string, requires: object) =>
  createMcpTool(name).description("d").requires(requires).execute(function* () {
    ran++;
    return "ran";
  });

const serve = [
  ask,
  sample,
  page,
  roots,
  adaptable,
  strict("needs_form", { elicitation: true }),
  strict("needs_page", { elicitation: "url" }),
  strict("needs_model", { sampling: true }),
  strict("needs_model_tools", { sampling: "tools" }),
  strict("needs_roots", { roots: true }),
  createMcpPrompt("needs_form").description("d").requires({ elicitation: true })
    .execute(function* () {
      return "text";
    }),
  createMcpResource("needs_form").uri("strict://x").requires({ elicitation: true })
    .read(function* () {
      return "text";
    }),
];

/** Everything that was asked of a client while it called a tool, and the result. */
async function asked(client: TestClient, name: string) {
  const call = await client.call(name);
  const questions: unknown[] = [];
  for (let next = await call.message(); next; next = await call.message()) {
    if (next.result) return { questions, result: next.result };
    questions.push(next.method);
    if (next.id === undefined) continue;
    const answers: Record<string, object> = {
      "elicitation/create": { action: "accept", content: { number: 1 } },
      "sampling/createMessage": {
        role: "assistant",
        content: { type: "text", text: "Yes" },
        model: "m",
      },
      "roots/list": { roots: [{ uri: "file:///home" }] },
    };
    await client.answer(next, answers[next.method!]!);
  }
  throw new Error("no result");
}

describe("a capability that a client has not declared", () => {
  it("is never used; the model is told which client lacks it, and what to do", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      for (
        const [name, capabilities] of [
          ["ask", {}],
          ["ask", { elicitation: null }],
          ["ask", { elicitation: false }],
          ["ask", { elicitation: { url: {} } }],
          ["page", {}],
          ["page", { elicitation: {} }],
          ["page", { elicitation: { form: {} } }],
          ["page", { elicitation: { form: {}, url: null } }],
          ["sample", {}],
          ["sample", { sampling: null }],
          ["roots", { elicitation: {}, sampling: {} }],
        ] as const
      ) {
        const client = await TestClient.connect(fetch, { capabilities, name: "Teapot" });
        const { questions, result } = await asked(client, name);
        assert.deepEqual(questions, [], name);
        assert.equal(result.isError, true);
        assert.match(textOf(result), /Teapot does not support .*; use a client/);
      }
    }));

  it('is reported for "this client" if the client gave no name', () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { name: 5 as never });
      assert.match(textOf((await asked(client, "ask")).result), /this client does not support/);
    }));

  it("can be avoided by a tool that checks for it", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const { result } = await asked(client, "adaptable");
      assert.equal(textOf(result), "did without elicitation");
      assert.notEqual(result.isError, true);
    }));

  it("stops a tool that requires it from running at all", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      ran = 0;
      for (
        const [name, capabilities, what] of [
          ["needs_form", { elicitation: { url: {} } }, "elicitation"],
          ["needs_page", { elicitation: {} }, "elicitation.url"],
          ["needs_model", {}, "sampling"],
          ["needs_model_tools", { sampling: {} }, "sampling.tools"],
          ["needs_roots", {}, "roots"],
        ] as const
      ) {
        const client = await TestClient.connect(fetch, { capabilities, name: "Teapot" });
        const { result } = await client.request("tools/call", { name });
        assert.equal(result.isError, true, name);
        assert.ok(textOf(result).includes(`needs ${what}, which Teapot does not support`));
      }
      assert.equal(ran, 0);
      const able = await TestClient.connect(fetch, { capabilities: ABLE });
      for (const name of ["needs_form", "needs_page", "needs_model_tools", "needs_roots"]) {
        assert.equal(textOf((await able.request("tools/call", { name })).result), "ran");
      }
      assert.equal(ran, 4);
    }));

  it("stops a prompt and a resource too, which can only report it as an error", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (
        const [method, params] of [
          ["prompts/get", { name: "needs_form" }],
          ["resources/read", { uri: "strict://x" }],
        ] as const
      ) {
        const { error } = await client.request(method, params);
        assert.match(error.message, /needs elicitation/);
      }
    }));
});

describe("a capability that a client has declared", () => {
  it("is used", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const outcomes = [];
      for (const name of ["ask", "sample", "roots"]) {
        const { questions, result } = await asked(client, name);
        outcomes.push([questions, textOf(result)]);
      }
      assert.deepEqual(outcomes, [
        [["elicitation/create"], "It is 1"],
        [["sampling/createMessage"], "Yes"],
        [["roots/list"], "file:///home"],
      ]);
    }));

  it("is used in the modes that the client names, whatever its revision", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      for (const version of ["2025-06-18", "2025-03-26"] as const) {
        const client = await TestClient.connect(fetch, { version, capabilities: ABLE });
        const { questions, result } = await asked(client, "page");
        assert.deepEqual(questions, ["elicitation/create", "notifications/elicitation/complete"]);
        assert.equal(textOf(result), "accept");
      }
    }));

  it("is not used if the revision has no message for it", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      for (
        const [version, name, elicitation] of [
          ["2025-06-18", "page", {}],
          ["2025-06-18", "page", { form: {} }],
          ["2025-03-26", "ask", {}],
          ["2024-11-05", "ask", {}],
        ] as const
      ) {
        const capabilities = { ...ABLE, elicitation };
        const client = await TestClient.connect(fetch, { version, capabilities });
        const { questions, result } = await asked(client, name);
        assert.deepEqual([questions, result.isError], [[], true], `${version} ${name}`);
      }
    }));
});

describe("ctx.elicitUrl()", () => {
  it("separates consent from completion", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("page");
      const question = await call.expect("elicitation/create");
      const { elicitationId, ...params } = question.params;
      assert.deepEqual(params, { mode: "url", message: "Sign in", url: "https://a.example/in" });
      await client.answer(question, { action: "accept" });
      const complete = await call.expect("notifications/elicitation/complete");
      assert.deepEqual(complete.params, { elicitationId });
      assert.equal(await call.text(), "accept");
    }));

  it("reports no completion if there was no consent", () =>
    serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { capabilities: ABLE });
      const call = await client.call("page");
      await client.answer(await call.expect("elicitation/create"), { action: "decline" });
      assert.equal(await call.text(), "decline");
    }));
});
