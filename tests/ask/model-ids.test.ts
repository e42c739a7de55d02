import assert from "node:assert/strict";
import { type Operation, run } from "effection";
import fc from "fast-check";
import { z } from "zod";
import {
  createMcpTool,
  type FinalizedMcpTool,
  InMemoryToolSessionStore,
  type McpMessage,
  type McpToolContextWithElicits,
} from "../../src/mod.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { checkMessages } from "../../src/ask/messages.ts";
import { newSessionId } from "../../src/session/session-id.ts";
import { until } from "../support/registry.ts";
import { withModel } from "../sampling/fake-model.ts";
import { ask, openaiAnswer } from "../sampling/samples.ts";
import { describe, it } from "../suite.ts";
import { assertModelIds, modelIdProblem, modelIdsIn } from "../support/model-ids.ts";
import { calls, scriptedProvider, use } from "./sampling-kit.ts";

const form = { response: z.object({ n: z.number() }) };
type Context = McpToolContextWithElicits<{ ask: typeof form }>;

function asking(body: (ctx: Context) => Operation<unknown>): FinalizedMcpTool {
  return createMcpTool("t").description("d").durable({ version: "1" }).limits({ maxDepth: 50 })
    .elicits({ ask: form }).execute(function* (_params, ctx) {
      yield* body(ctx);
    });
}

/** A conversation in which each of these ids is called and answered. */
function conversation(ids: readonly string[]): McpMessage[] {
  return ids.flatMap((id): McpMessage[] => [
    { role: "assistant", content: [{ type: "tool_use", id, name: "look", input: {} }] },
    { role: "user", content: [{ type: "tool_result", toolUseId: id, content: [] }] },
  ]);
}

const look = { name: "look", inputSchema: z.object({}) };

/** Ids as authors and models may choose them: short and long, with every character. */
const anyId = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 80 }),
  fc.constantFrom(
    "call_1",
    "call_2",
    `elicit_${crypto.randomUUID()}_1`,
    "toolu_01",
    "a".repeat(41),
  ),
);

describe("newSessionId()", () => {
  it("returns 22 characters, so that a question's id has at most 40", () => {
    const ids = Array.from({ length: 2_000 }, newSessionId);
    for (const id of ids) {
      assert.match(id, /^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/);
      assert.ok(`elicit_${id}_9999999999`.length <= 40);
    }
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe("ids of tool calls that are sent to a model", () => {
  it("have at most 40 characters of [A-Za-z0-9_-], whatever their origin, and still match", () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyId, { maxLength: 6 }),
        anyId,
        fc.array(fc.nat({ max: 120 }), { maxLength: 12 }),
        async (ids, modelsOwn, path) => {
          const provider = scriptedProvider(
            calls(use("look", {}, modelsOwn)),
            'Sure: {"tool": "look", "arguments": {}}',
            "done",
          );
          const registry = new LiveToolSessionRegistry({
            sampling: { provider, answerer: "provider" },
          });
          /** Descends to the branch with that path, and leaves the others unused. */
          function* down(ctx: Context, [first, ...rest]: number[]): Operation<void> {
            if (first === undefined) return yield* talk(ctx);
            for (let n = 0; n < first; n++) yield* ctx.branch(function* () {});
            yield* ctx.branch((inner) => down(inner, rest));
          }
          function* talk(ctx: Context): Operation<void> {
            const history = conversation(ids);
            const answer = yield* ctx.elicit("ask", { message: "?" });
            assert.equal(answer.action, "accept");
            if (answer.action === "accept") history.push(...answer.exchange.messages);
            for (let turns = 0; turns < 2; turns++) {
              const { exchange } = yield* ctx.sampleTools({
                messages: [...history, { role: "user", content: "Look." }],
                tools: [look],
              });
              history.push(
                ...conversation(modelIdsIn(exchange.response)),
              );
            }
            yield* ctx.sample({ messages: [...history, { role: "user", content: "And?" }] });
          }
          const session = registry.open(asking((ctx) => down(ctx, path)), {});
          await until(() => session.openRequests().length > 0);
          const [question] = session.openRequests();
          session.respond(question!.id, { action: "accept", content: { n: 1 } });
          await until(() => session.outcome !== undefined);
          assert.equal(session.outcome!.status, "completed", JSON.stringify(session.outcome));
          await registry.close();
          assert.equal(provider.asked.length, 3);
          for (const { messages } of provider.asked) assertClosed(messages, ids.length + 1);
        },
      ),
      { seed: 24, numRuns: 60 },
    ));

  it("are short too in a session that was stored with a long id", async () => {
    const store = new InMemoryToolSessionStore();
    const id = "0c9a7f6e-2d0b-4d0b-9c55-5a1d6f1e7b11";
    const tool = asking(function* (ctx) {
      const answer = yield* ctx.elicit("ask", { message: "?" });
      if (answer.action !== "accept") return;
      yield* ctx.sample({
        messages: [...answer.exchange.messages, { role: "user", content: "?" }],
      });
    });
    const meta = { kind: "tool", principal: "", client: { capabilities: {} }, keepUntil: 0 };
    await run(() =>
      store.set(id, {
        id,
        toolName: "t",
        toolVersion: "1",
        params: {},
        createdAt: 1,
        epoch: 1,
        meta: { ...meta, client: { capabilities: { elicitation: { form: {} } } } },
      })
    );
    const provider = scriptedProvider("done");
    const registry = new LiveToolSessionRegistry({
      store,
      sampling: { provider, answerer: "provider" },
      find: () => tool,
    });
    const session = (await registry.lookup(id))!;
    const [question] = session.openRequests();
    assert.equal(question!.id, `elicit_${id}_1`, "45 characters");
    session.respond(question!.id, { action: "accept", content: { n: 1 } });
    await until(() => session.outcome !== undefined);
    await registry.close();
    assertClosed(provider.asked[0]!.messages, 1);
  });

  it("are checked by the test models as providers check them", () =>
    withModel("openai:gpt-4o", [{ json: openaiAnswer({ content: "ok" }) }], async (setting) => {
      const sample = (id: string) =>
        ask(setting.provider, { messages: conversation([id]), maxTokens: 10 });
      await sample("a".repeat(40));
      await assert.rejects(sample("a".repeat(41)));
      await assert.rejects(sample("a b"));
    }));
});

/**
 * Asserts that every provider accepts the ids, each result has its call, and no two ids were
 * merged.
 */
function assertClosed(messages: readonly McpMessage[], calls: number): void {
  assertModelIds(messages);
  assert.equal(modelIdProblem(messages), undefined);
  checkMessages(messages);
  const uses = messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_use");
  assert.ok(uses.length >= calls);
}
