/** Who answers a sample, and what happens if they cannot. */
import assert from "node:assert/strict";
import { until } from "effection";
import { z } from "zod";
import {
  CapabilityError,
  type ClientInfo,
  createManualClock,
  createMcpTool,
  type SampleAnswerer,
  SampleError,
  type SampleParams,
  type SamplingProvider,
} from "../../src/mod.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { describe, it } from "../suite.ts";
import {
  calls,
  data,
  modern,
  sampling,
  scriptedProvider,
  use,
  user,
  WITH_TOOLS,
  WITHOUT_SAMPLING,
  WITHOUT_TOOLS,
} from "./sampling-kit.ts";

const Move = z.object({ cell: z.int() });
type Who = "client" | "client in words" | "provider" | "nobody";

/** Returns who answered a sample for data. */
async function whoAnswers(
  client: ClientInfo,
  setup: { provider?: boolean; answerer?: SampleAnswerer; by?: SampleAnswerer },
): Promise<Who> {
  const provider = scriptedProvider(data({ cell: 4 }));
  const sampled = await sampling(
    (ctx) => ctx.sampleSchema({ prompt: "?", schema: Move, ...(setup.by && { by: setup.by }) }),
    {
      client,
      sample: '{"cell": 4}',
      sampling: {
        ...(setup.provider && { provider }),
        ...(setup.answerer && { answerer: setup.answerer }),
      },
    },
  );
  const { error, asked } = sampled;
  if (error) {
    assert.ok(error instanceof SampleError || error instanceof CapabilityError, String(error));
    assert.equal(asked.length + provider.asked.length, 0);
    return "nobody";
  }
  assert.deepEqual(sampled.value.parsed, { cell: 4 });
  if (provider.asked.length > 0) return "provider";
  return asked[0]!.tools ? "client" : "client in words";
}

describe("choosing who answers a sample", () => {
  it("prefers the client, then the client with tools as text, then the provider, in the legacy era", async () => {
    const expected: [ClientInfo, boolean, Who][] = [
      [WITH_TOOLS, false, "client"],
      [WITH_TOOLS, true, "client"],
      [WITHOUT_TOOLS, false, "client in words"],
      [WITHOUT_TOOLS, true, "client in words"],
      [WITHOUT_SAMPLING, true, "provider"],
      [WITHOUT_SAMPLING, false, "nobody"],
    ];
    for (const [client, provider, who] of expected) {
      assert.equal(await whoAnswers(client, { provider }), who);
      const versioned = { ...client, protocolVersion: "2025-11-25" };
      assert.equal(await whoAnswers(versioned, { provider }), who);
    }
  });

  it("prefers the provider in the modern era, where every question costs a round trip", async () => {
    const expected: [ClientInfo, boolean, Who][] = [
      [WITH_TOOLS, true, "provider"],
      [WITHOUT_TOOLS, true, "provider"],
      [WITHOUT_SAMPLING, true, "provider"],
      [WITH_TOOLS, false, "client"],
      [WITHOUT_TOOLS, false, "client in words"],
      [WITHOUT_SAMPLING, false, "nobody"],
    ];
    for (const [client, provider, who] of expected) {
      assert.equal(await whoAnswers(modern(client), { provider }), who);
    }
  });

  it("follows the call's option, then the server's", async () => {
    const expected: [ClientInfo, SampleAnswerer, Who][] = [
      [WITH_TOOLS, "provider", "provider"],
      [WITH_TOOLS, "client", "client"],
      [modern(WITH_TOOLS), "client", "client"],
      [modern(WITHOUT_TOOLS), "client", "client in words"],
      [WITHOUT_SAMPLING, "client", "nobody"],
      [WITHOUT_SAMPLING, "provider", "provider"],
    ];
    for (const [client, who, answered] of expected) {
      assert.equal(await whoAnswers(client, { provider: true, by: who }), answered);
      assert.equal(await whoAnswers(client, { provider: true, answerer: who }), answered);
      const other = who === "client" ? "provider" : "client";
      const both = { provider: true, by: who, answerer: other } as const;
      assert.equal(await whoAnswers(client, both), answered);
    }
    assert.equal(await whoAnswers(WITH_TOOLS, { by: "provider" }), "nobody");
    const auto = { provider: true, by: "auto", answerer: "provider" } as const;
    assert.equal(await whoAnswers(WITH_TOOLS, auto), "client");
  });

  it("takes any client with sampling for a plain sample", async () => {
    const { asked } = await sampling((ctx) => ctx.sample({ prompt: "?" }), {
      client: WITHOUT_TOOLS,
      sample: "hi",
    });
    assert.deepEqual(asked, [{ messages: [user("?")], maxTokens: 4096 }]);
  });
});

describe("a sample that nobody can answer", () => {
  it("ends the call, and names the client and both remedies", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      return (yield* ctx.sample({ prompt: "?" })).text;
    });
    const registry = new LiveToolSessionRegistry();
    try {
      const session = registry.open(tool, {}, { client: WITHOUT_SAMPLING });
      assert.equal(session.outcome?.status, "completed");
      const text = JSON.stringify(session.outcome);
      assert.match(text, /"isError":true/);
      assert.match(text, /Acme/);
      assert.match(text, /use a client that does/);
      assert.match(text, /PARLEY_MODEL/);
    } finally {
      await registry.close();
    }
  });

  it("has another message if the tool insists on one of the two", async () => {
    const failing = async (by: SampleAnswerer, client: ClientInfo) => {
      const { error } = await sampling((ctx) => ctx.sample({ prompt: "?", by }), { client });
      return error;
    };
    assert.ok(await failing("client", WITHOUT_SAMPLING) instanceof CapabilityError);
    const none = await failing("provider", WITH_TOOLS);
    assert.ok(none instanceof SampleError);
    assert.doesNotMatch(none.message, /Acme/);
  });
});

describe("a client that does not answer a sample", () => {
  it("is no longer asked when the tool no longer waits", async () => {
    const { error, run } = await sampling(
      (ctx) =>
        ctx.branch((branch) => branch.sampleSchema({ prompt: "?", schema: Move }), { timeout: 5 }),
      { sample: { timeout: true } },
    );
    assert.equal((error as { code: string }).code, "PARLEY_TIMEOUT");
    assert.ok(run.events.some(({ type }) => type === "withdrawn"));
  });
});

describe("a sampling provider", () => {
  const client = WITHOUT_SAMPLING;

  it("gets the same request as a client, and its tokens count", async () => {
    const provider = scriptedProvider({ ...data({ cell: 4 }), usage: { outputTokens: 30 } });
    const { value } = await sampling(
      function* (ctx) {
        yield* ctx.sampleSchema({ prompt: "?", schema: Move, maxTokens: 50, temperature: 1 });
        return yield* ctx.sampleSchema({ prompt: "!", schema: Move, maxTokens: 50 });
      },
      { client, sampling: { provider } },
      { maxTokens: 70 },
    );
    assert.equal(value.model, "m-1");
    assert.deepEqual(provider.asked.map(({ maxTokens }) => maxTokens), [50, 40]);
    const [first] = provider.asked;
    assert.equal(first!.tools?.[0]?.name, "__schema__");
    assert.deepEqual(first!.toolChoice, { mode: "required" });
    assert.equal(first!.temperature, 1);
  });

  it("is asked again after an invalid answer, like a client", async () => {
    const provider = scriptedProvider("no", calls(use("x", {})), data({ cell: 4 }));
    const { value } = await sampling((ctx) => ctx.sampleSchema({ prompt: "?", schema: Move }), {
      client,
      sampling: { provider },
    });
    assert.deepEqual(value.parsed, { cell: 4 });
    assert.deepEqual(provider.asked.map(({ messages }) => messages.length), [1, 3, 5]);
  });

  it("that fails throws a SampleError with its name and one line of its message", async () => {
    const failing: SamplingProvider[] = [
      scriptedProvider(new Error("x".repeat(5_000))),
      scriptedProvider({} as never),
      scriptedProvider({ error: { code: 1, message: "no" } }),
      {
        name: "fake:model",
        sample() {
          throw new Error("at once");
        },
      },
      { name: "fake:model", sample: () => Promise.reject("a string") },
      { name: "fake:model", sample: () => undefined as never },
    ];
    for (const provider of failing) {
      const { error } = await sampling((ctx) => ctx.sample({ prompt: "?" }), {
        client,
        sampling: { provider },
      });
      assert.ok(error instanceof SampleError, String(error));
      assert.match(error.message, /fake:model/);
      assert.ok(error.message.length < 500);
    }
  });

  it("is aborted when the tool no longer waits", function* () {
    const asked = Promise.withResolvers<AbortSignal>();
    const provider: SamplingProvider = {
      name: "fake:model",
      sample(_params: SampleParams, signal) {
        asked.resolve(signal);
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
    };
    const registry = new LiveToolSessionRegistry({ sampling: { provider } });
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      return (yield* ctx.sample({ prompt: "?" })).text;
    });
    try {
      const session = registry.open(tool, {}, { client });
      const signal = yield* until(asked.promise);
      assert.equal(signal.aborted, false);
      yield* session.cancel();
      assert.equal(signal.aborted, true);
      assert.equal(session.outcome?.status, "cancelled");
    } finally {
      yield* until(registry.close());
    }
  });

  it("is aborted when a branch times out", async () => {
    const clock = createManualClock();
    const asked = Promise.withResolvers<AbortSignal>();
    const provider: SamplingProvider = {
      name: "fake:model",
      sample(_params, signal) {
        asked.resolve(signal);
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
    };
    const sampled = sampling(
      (ctx) => ctx.branch((branch) => branch.sample({ prompt: "?" }), { timeout: 5 }),
      { client, clock, sampling: { provider } },
    );
    const signal = await asked.promise;
    clock.advance(5);
    const { error } = await sampled;
    assert.equal((error as { code: string }).code, "PARLEY_TIMEOUT");
    assert.equal(signal.aborted, true);
  });
});
