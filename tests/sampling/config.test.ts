import assert from "node:assert/strict";
import {
  createSamplingProvider,
  samplingFromEnvironment,
  type SamplingProviderConfig,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { startFakeModel } from "./fake-model.ts";
import { anthropicAnswer, ask, ollamaAnswer, openaiAnswer, plain, said } from "./samples.ts";

const KEYS = { OPENAI_API_KEY: "ok-1", ANTHROPIC_API_KEY: "ak-1" };

/** The one-sentence error for an invalid configuration. */
function complaint(configure: () => unknown): string {
  try {
    configure();
  } catch (error) {
    assert.ok(error instanceof TypeError, String(error));
    assert.match(error.message, /^Cannot use .+: .+; .+$/);
    return error.message;
  }
  assert.fail("it was accepted");
}

describe("samplingFromEnvironment()", () => {
  it("returns nothing if no model is configured", () => {
    assert.equal(samplingFromEnvironment({}), undefined);
    assert.equal(samplingFromEnvironment({ ...KEYS, PARLEY_MODEL: "  " }), undefined);
  });

  it("names the model as it was configured", () => {
    for (
      const name of [
        "openai:gpt-5",
        "anthropic:claude-sonnet-5",
        "ollama:llama3.3:70b",
        "openai-compatible:org/model",
      ]
    ) {
      const env = { ...KEYS, PARLEY_MODEL: name, PARLEY_MODEL_URL: "http://127.0.0.1:9/v1" };
      assert.equal(samplingFromEnvironment(env)?.name, name);
    }
  });

  it("finds the address and the key in the usual variables", async () => {
    const model = await startFakeModel(({ path }) => ({
      json: path.endsWith("/messages")
        ? anthropicAnswer([said("hi")])
        : path.endsWith("/chat")
        ? ollamaAnswer({ content: "hi" })
        : openaiAnswer({ content: "hi" }),
    }));
    const { url } = model;
    try {
      for (
        const [env, path, header, value] of [
          [
            { PARLEY_MODEL: "openai:gpt-5", OPENAI_BASE_URL: `${url}/o/v1/` },
            "/o/v1/chat/completions",
            "authorization",
            "Bearer ok-1",
          ],
          [
            { PARLEY_MODEL: "anthropic:claude-x", ANTHROPIC_BASE_URL: url },
            "/v1/messages",
            "x-api-key",
            "ak-1",
          ],
          [
            { PARLEY_MODEL: "anthropic:claude-x", ANTHROPIC_BASE_URL: `${url}/a/v1` },
            "/a/v1/messages",
            "x-api-key",
            "ak-1",
          ],
          [
            { PARLEY_MODEL: "ollama:llama3", OLLAMA_HOST: url.slice("http://".length) },
            "/api/chat",
            "authorization",
            undefined,
          ],
          // A key for OpenAI is not sent to other servers with the same API.
          [
            { PARLEY_MODEL: "openai-compatible:m", PARLEY_MODEL_URL: `${url}/v1` },
            "/v1/chat/completions",
            "authorization",
            undefined,
          ],
          [
            {
              PARLEY_MODEL: "openai-compatible:m",
              PARLEY_MODEL_URL: `${url}/v1`,
              PARLEY_MODEL_KEY: "pk-1",
            },
            "/v1/chat/completions",
            "authorization",
            "Bearer pk-1",
          ],
          [
            {
              PARLEY_MODEL: "openai:gpt-5",
              OPENAI_BASE_URL: "http://127.0.0.1:9/",
              PARLEY_MODEL_URL: `${url}/p`,
              PARLEY_MODEL_KEY: "pk-1",
            },
            "/p/chat/completions",
            "authorization",
            "Bearer pk-1",
          ],
        ] as const
      ) {
        model.received.length = 0;
        await ask(samplingFromEnvironment({ ...KEYS, ...env })!, plain);
        assert.equal(model.received[0]!.path, path);
        assert.equal(model.received[0]!.headers[header], value, path);
      }
    } finally {
      await model.close();
    }
  });

  it("reports a mistake in one sentence for operators", () => {
    const env = (variables: Record<string, string>) =>
      complaint(() => samplingFromEnvironment(variables));
    assert.match(env({ PARLEY_MODEL: "gpt-5" }), /PARLEY_MODEL "gpt-5".*openai:…/);
    assert.match(env({ PARLEY_MODEL: "openai:" }), /PARLEY_MODEL/);
    assert.match(env({ PARLEY_MODEL: "mistral:large" }), /openai-compatible:…/);
    assert.match(env({ PARLEY_MODEL: "openai:gpt-5" }), /set OPENAI_API_KEY/);
    assert.match(env({ PARLEY_MODEL: "anthropic:claude-x" }), /set ANTHROPIC_API_KEY/);
    assert.match(env({ PARLEY_MODEL: "openai-compatible:m" }), /set PARLEY_MODEL_URL/);
    assert.match(
      env({ PARLEY_MODEL: "openai:gpt-5", OPENAI_API_KEY: "k", OPENAI_BASE_URL: "nowhere" }),
      /OPENAI_BASE_URL is not a full http/,
    );
    const secret = env({ PARLEY_MODEL: "openai:x", OPENAI_API_KEY: "sk-s", OPENAI_BASE_URL: "!" });
    assert.ok(!secret.includes("sk-s"));
  });
});

describe("createSamplingProvider()", () => {
  it("reports a mistake in one sentence for authors", () => {
    const config = (config: unknown) =>
      complaint(() => createSamplingProvider(config as SamplingProviderConfig));
    assert.match(config({ model: "openai:gpt-5" }), /set apiKey/);
    assert.match(config({}), /model/);
    assert.match(config({ model: 5 }), /model/);
    assert.match(config({ model: "ollama:x", baseUrl: "ftp://a" }), /baseUrl/);
    assert.match(config({ model: "ollama:x", timeout: 0 }), /timeout/);
    assert.match(config({ model: "ollama:x", timeout: NaN }), /timeout/);
    assert.match(config({ model: "ollama:x", retries: -1 }), /retries/);
    assert.match(config({ model: "ollama:x", retries: Infinity }), /retries/);
  });

  it("neither loads nor sends anything by itself", () => {
    const fetch = () => assert.fail("it sent something");
    const provider = createSamplingProvider({
      model: "ollama:x",
      fetch: fetch as unknown as typeof globalThis.fetch,
    });
    assert.equal(provider.name, "ollama:x");
  });
});
