/** What happens to a sample when its model fails: the same for all three wire formats. */
import assert from "node:assert/strict";
import { createSamplingProvider, SampleError, type SampleResponse } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { createTestClock, nobodysUrl, type Reply, TIMEOUT, withModel } from "./fake-model.ts";
import { anthropicAnswer, ask, ollamaAnswer, openaiAnswer, plain, said } from "./samples.ts";

const KEY = "sk-test-1234567890";

const PROVIDERS: { name: string; ok: Reply; error: (message: string) => object }[] = [
  {
    name: "openai:gpt-4o",
    ok: { json: openaiAnswer({ content: "hi" }) },
    error: (message) => ({
      error: { message, type: "invalid_request_error", param: null, code: null },
    }),
  },
  {
    name: "anthropic:claude-sonnet-4-5",
    ok: { json: anthropicAnswer([said("hi")]) },
    error: (message) => ({
      type: "error",
      error: { type: "some_error", message },
      request_id: "r",
    }),
  },
  {
    name: "ollama:llama3.3",
    ok: { json: ollamaAnswer({ content: "hi" }) },
    error: (message) => ({ error: message }),
  },
];

/** The error of a sample, which must be one for the model, and contain no secret. */
async function failure(sample: Promise<SampleResponse>): Promise<string> {
  try {
    await sample;
  } catch (error) {
    assert.ok(error instanceof SampleError, String(error));
    assert.equal(error.code, "PARLEY_SAMPLE");
    const shown = `${error.message}\n${error.stack}\n${JSON.stringify(error)}`;
    assert.ok(!shown.includes(KEY), shown);
    assert.ok(error.message.length < 500, error.message);
    assert.equal(error.cause, undefined);
    return error.message;
  }
  assert.fail("it did not fail");
}

for (const { name, ok, error } of PROVIDERS) {
  const hi = (response: SampleResponse) => assert.deepEqual(response.content, [said("hi")]);

  describe(`${name}, when it fails`, () => {
    it("is not retried if that is useless, and says what to do", async () => {
      for (
        const [reply, words] of [
          [{ status: 401, json: error(`Incorrect API key provided: ${KEY}`) }, /key/],
          [{ status: 403, json: error("no") }, /key/],
          [{ status: 404, json: error("model not found") }, /404/],
          [{ status: 400, json: error(`max_tokens is too large, says ${KEY}`) }, /too large/],
          [{ status: 400, text: `<html>${KEY}</html>` }, /400/],
          [{ status: 302, headers: { location: "http://127.0.0.1:1/" }, text: "" }, /302/],
          [
            { text: "<!DOCTYPE html><html></html>", headers: { "content-type": "text/html" } },
            /page/,
          ],
          [{ text: "garbage" }, /JSON/],
          [{ text: "" }, /empty/],
          [{ json: { hello: "world" } }, /not in the format/],
          [{ json: null }, /not in the format/],
          [{ json: [] }, /not in the format/],
        ] as [Reply, RegExp][]
      ) {
        await withModel(name, [reply], async ({ model, provider, clock }) => {
          assert.match(await failure(ask(provider, plain)), words);
          assert.equal(model.received.length, 1, String(words));
          assert.deepEqual(clock.pauses, []);
          assert.equal(clock.limits, 0);
        });
      }
    });

    it("is retried while it is busy or broken, and then answers", async () => {
      for (const status of [429, 500, 502, 503, 529, 408]) {
        const busy: Reply = { status, json: error("overloaded") };
        await withModel(name, [busy, busy, ok], async ({ model, provider, clock }) => {
          hi(await ask(provider, plain));
          assert.equal(model.received.length, 3);
          assert.deepEqual(model.received[0]!.body, model.received[2]!.body);
          const [first = 0, second = 0] = clock.pauses;
          assert.ok(first >= 500 && first <= 625, `first ${first}`);
          assert.ok(second >= 1000 && second <= 1250, `second ${second}`);
          assert.equal(clock.limits, 0);
        });
      }
    });

    it("fails after the last retry", async () => {
      await withModel(name, [{ status: 500, text: "oops" }], async ({ model, provider }) => {
        assert.match(await failure(ask(provider, plain)), /500/);
        assert.equal(model.received.length, 3);
      });
      await withModel(name, [{ status: 429, json: error("slow down") }], async (setting) => {
        assert.match(await failure(ask(setting.provider, plain)), /too many/);
        assert.equal(setting.model.received.length, 1);
      }, { apiKey: KEY, retries: 0 });
    });

    it("gets the pause that it asks for, unless that is too long", async () => {
      const wish = (header: string): Reply => ({
        status: 429,
        headers: { "retry-after": header },
        json: error("slow down"),
      });
      const inTwoSeconds = new Date(createTestClock().now() + 2_000).toUTCString();
      for (const [header, pause] of [["3", 3_000], ["0", 0], [inTwoSeconds, 2_000]] as const) {
        await withModel(name, [wish(header), ok], async ({ provider, clock }) => {
          hi(await ask(provider, plain));
          assert.deepEqual(clock.pauses, [pause]);
        });
      }
      await withModel(name, [wish("soon"), ok], async ({ provider, clock }) => {
        hi(await ask(provider, plain));
        assert.ok(clock.pauses[0]! >= 500);
      });
      await withModel(name, [wish("3600"), ok], async ({ model, provider, clock }) => {
        assert.match(await failure(ask(provider, plain)), /too many/);
        assert.deepEqual(clock.pauses, []);
        assert.equal(model.received.length, 1);
      });
    });

    it("is retried if the connection breaks, and fails if there is none", async () => {
      await withModel(name, ["reset", ok], async ({ model, provider }) => {
        hi(await ask(provider, plain));
        assert.equal(model.received.length, 2);
      });
      await withModel(name, ["reset"], async ({ model, provider }) => {
        assert.match(await failure(ask(provider, plain)), /cannot be reached/);
        assert.equal(model.received.length, 3);
      });
      const clock = createTestClock();
      const baseUrl = await nobodysUrl();
      const provider = createSamplingProvider({
        model: name,
        apiKey: KEY,
        baseUrl,
        clock,
        timeout: TIMEOUT,
      });
      assert.match(await failure(ask(provider, plain)), /cannot be reached/);
    });

    it("is aborted when its timeout is over, before or in the middle of its response", async () => {
      for (const reply of ["hang", "stall"] as const) {
        await withModel(name, [reply], async ({ model, provider, clock }) => {
          const failed = failure(ask(provider, plain));
          await model.arrived(1);
          clock.expire();
          assert.match(await failed, new RegExp(`${TIMEOUT / 1_000} s`));
          await model.dropped;
          assert.equal(model.received.length, 1);
        });
      }
    });

    it("is aborted at once when nobody waits any more", async () => {
      for (const reply of ["hang", "stall"] as const) {
        await withModel(name, [reply], async ({ model, provider, clock }) => {
          const controller = new AbortController();
          const sample = provider.sample(plain, controller.signal);
          await model.arrived(1);
          controller.abort(new Error("halted"));
          await assert.rejects(sample, /halted/);
          await model.dropped;
          assert.equal(clock.limits, 0);
        });
      }
    });

    it("is not asked at all, or not again, once nobody waits", async () => {
      await withModel(name, [ok], async ({ model, provider }) => {
        await assert.rejects(
          provider.sample(plain, AbortSignal.abort(new Error("halted"))),
          /halted/,
        );
        assert.equal(model.received.length, 0);
      });
      await withModel(name, [{ status: 500, text: "" }], async ({ model }) => {
        const controller = new AbortController();
        const impatient = createSamplingProvider({
          model: name,
          apiKey: KEY,
          baseUrl: name.startsWith("ollama") ? model.url : `${model.url}/v1`,
          clock: {
            now: () => 0,
            after(ms) {
              if (ms < 1_000) controller.abort(new Error("halted"));
              return () => {};
            },
          },
        });
        await assert.rejects(impatient.sample(plain, controller.signal), /halted/);
        assert.equal(model.received.length, 1);
      });
    });
  });
}

describe("an endless response", () => {
  it("is aborted when it gets far too long", async () => {
    const endless = () =>
      Promise.resolve(
        new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024).fill(32)),
          }),
        ),
      );
    const provider = createSamplingProvider({
      model: "openai:gpt-4o",
      apiKey: KEY,
      fetch: endless as typeof fetch,
    });
    assert.match(await failure(ask(provider, plain)), /longer than 16 MiB/);
  });
});
