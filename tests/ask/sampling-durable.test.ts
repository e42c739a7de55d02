import assert from "node:assert/strict";
import { z } from "zod";
import {
  createManualClock,
  createMcpTool,
  InMemoryToolSessionStore,
  SampleError,
  type SamplingProvider,
} from "../../src/mod.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { textOf, until } from "../support/registry.ts";
import { describe, it } from "../suite.ts";
import { data, scriptedProvider } from "./sampling-kit.ts";

const client = { name: "Acme", capabilities: { elicitation: {} } };

const tool = createMcpTool("t").description("d").durable()
  .elicits({ go: { response: z.object({ on: z.boolean() }) } })
  .execute(function* (_params, ctx) {
    const { parsed } = yield* ctx.sampleSchema({ prompt: "?", schema: z.object({ n: z.int() }) });
    let failure = "none";
    try {
      yield* ctx.sample({ prompt: "!" });
    } catch (error) {
      if (!(error instanceof SampleError)) throw error;
      failure = error.code;
    }
    yield* ctx.elicit("go", { message: "Go on?" });
    const last = yield* ctx.sampleSchema({ prompt: "?", schema: z.object({ n: z.int() }) });
    return `${parsed.n} ${failure} ${last.parsed.n}`;
  });

describe("a durable tool that is resumed", () => {
  it("gets the recorded answer of the server's own model, which is not asked again", async () => {
    const store = new InMemoryToolSessionStore();
    const serve = (provider: SamplingProvider) =>
      new LiveToolSessionRegistry({
        store,
        clock: createManualClock(),
        limits: { passivateAfter: Infinity },
        find: () => tool,
        report: () => {},
        sampling: { provider },
      });
    // The second sample fails; the second server's model would have answered differently.
    const before = scriptedProvider("no", data({ n: 1 }), new Error("out of order"));
    const after = scriptedProvider(data({ n: 2 }));
    const [first, second] = [serve(before), serve(after)];
    try {
      const session = first.open(tool, {}, { client });
      await until(() => session.openRequests().length === 1);
      assert.equal(before.asked.length, 3);

      const again = (await second.lookup(session.id))!;
      await until(() => again.openRequests().length === 1);
      assert.equal(after.asked.length, 0);
      const [request] = again.openRequests();
      again.respond(request!.id, { action: "accept", content: { on: true } });
      assert.equal(await textOf(again), "1 PARLEY_SAMPLE 2");
      assert.equal(after.asked.length, 1);
      // The conversation is unchanged too.
      assert.deepEqual(after.asked[0]!.messages.slice(0, 3).map(({ role }) => role), [
        "user",
        "assistant",
        "user",
      ]);
    } finally {
      await first.close();
      await second.close();
    }
  });
});
