import assert from "node:assert/strict";
import { chooseModels } from "../../src/sampling/choose-model.ts";
import { describe, it } from "../suite.ts";
import { withModel } from "./fake-model.ts";
import { ask, openaiAnswer, plain, said } from "./samples.ts";

type Kind = Parameters<typeof chooseModels>[0];

function models(kind: Kind, configured: string, ...names: unknown[]): string[] {
  const hints = names.map((name) => ({ name })) as { name: string }[];
  return chooseModels(kind, configured, { ...plain, modelPreferences: { hints } }, new Set());
}

describe("chooseModels()", () => {
  it("takes the first hint that is the full name of one of this provider's models", () => {
    assert.deepEqual(models("openai", "gpt-5", "claude-sonnet-5", "gpt-4o-mini", "gpt-4o"), [
      "gpt-4o-mini",
      "gpt-5",
    ]);
    assert.deepEqual(models("openai", "gpt-5", "o3"), ["o3", "gpt-5"]);
    assert.deepEqual(models("anthropic", "claude-sonnet-5", "claude-3-5-haiku"), [
      "claude-3-5-haiku",
      "claude-sonnet-5",
    ]);
    assert.deepEqual(models("ollama", "llama3.3", "qwen3:8b"), ["qwen3:8b", "llama3.3"]);
  });

  it("accepts our own notation", () => {
    assert.deepEqual(models("openai-compatible", "a", "openai-compatible:b"), ["b", "a"]);
    assert.deepEqual(models("ollama", "a", "ollama:qwen3"), ["qwen3", "a"]);
    assert.deepEqual(models("ollama", "a", "openai:gpt-5", "anthropic:claude-3"), ["a"]);
  });

  it("keeps the configured model for everything else", () => {
    for (
      const [kind, hint] of [
        ["openai", "sonnet"],
        ["openai", "gpt"],
        ["openai", "llama3"],
        ["anthropic", "claude"],
        ["anthropic", "sonnet"],
        ["anthropic", "gpt-4o"],
        ["ollama", "llama3"],
        ["openai-compatible", "gpt-4o"],
        ["openai", ""],
        ["openai", undefined],
        ["openai", 5],
      ] as [Kind, unknown][]
    ) {
      assert.deepEqual(models(kind, "configured", hint), ["configured"], `${kind} ${hint}`);
    }
    assert.deepEqual(models("openai", "gpt-5", "gpt-5"), ["gpt-5"]);
    assert.deepEqual(chooseModels("openai", "gpt-5", plain, new Set()), ["gpt-5"]);
  });

  it("does not try an unknown model twice", () => {
    const modelPreferences = { hints: [{ name: "gpt-9" }, { name: "gpt-4o" }] };
    const params = { ...plain, modelPreferences };
    assert.deepEqual(chooseModels("openai", "gpt-5", params, new Set(["gpt-9"])), [
      "gpt-4o",
      "gpt-5",
    ]);
  });
});

describe("a provider with a hint", () => {
  const hinted = { ...plain, modelPreferences: { hints: [{ name: "gpt-9" }] } };

  it("uses the model of the hint", async () => {
    const ok = { json: openaiAnswer({ content: "hi" }) };
    await withModel("openai:gpt-5", [ok], async ({ provider, model }) => {
      await ask(provider, hinted);
      assert.deepEqual(model.received.map(({ body }) => body.model), ["gpt-9"]);
    });
  });

  it("falls back to the configured model if the hinted one is unknown, and remembers it", async () => {
    await withModel(
      "openai:gpt-5",
      ({ body }) =>
        body.model === "gpt-5"
          ? { json: openaiAnswer({ content: "hi" }) }
          : { status: 404, json: { error: { message: "no such model", code: "model_not_found" } } },
      async ({ provider, model }) => {
        assert.deepEqual((await ask(provider, hinted)).content, [said("hi")]);
        await ask(provider, hinted);
        assert.deepEqual(model.received.map(({ body }) => body.model), ["gpt-9", "gpt-5", "gpt-5"]);
      },
    );
  });

  it("does not fall back for any other failure", async () => {
    await withModel("openai:gpt-5", [{ status: 401, json: {} }], async ({ provider, model }) => {
      await assert.rejects(ask(provider, hinted), { code: "PARLEY_SAMPLE" });
      assert.equal(model.received.length, 1);
    });
  });
});
