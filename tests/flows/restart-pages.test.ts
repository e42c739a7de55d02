/** A person who was sent to a page finds it even after the server was restarted. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createMcpTool } from "../../src/mod.ts";
import { ORIGIN } from "../support/exchange.ts";
import { ABLE, TestClient, textOf } from "../support/legacy/client.ts";
import { type Life, living } from "../support/life.ts";
import { describe, it } from "../suite.ts";

const form = { response: z.object({ name: z.string() }) };

/** Sends the person to its own page, and asks what they saw there. */
const sending = createMcpTool("sending").description("d").durable().elicits({ seen: form })
  .execute(function* (_params, ctx) {
    const page = yield* ctx.usePage({
      *respond() {
        return new Response("welcome");
      },
    });
    const sent = yield* ctx.elicitUrl({ message: "Go there", url: page.url });
    yield* ctx.elicit("seen", { message: "What did it say?" });
    yield* sent.complete();
    return sent.elicitationId;
  });

/** Opens its page within a step, where nothing else is recorded. */
const within = createMcpTool("within").description("d").durable().elicits({ seen: form })
  .execute(function* (_params, ctx) {
    const opened = yield* ctx.step("open", function* () {
      const { url } = yield* ctx.usePage({
        *respond() {
          return new Response("welcome");
        },
      });
      return url.startsWith(`${ORIGIN}/pages/`);
    });
    yield* ctx.elicit("seen", { message: "?" });
    return `${opened}`;
  });

async function connect(life: Life): Promise<TestClient> {
  const fetch = (request: Request) => life.parley.fetch(request);
  return await TestClient.connect(fetch, { capabilities: ABLE });
}

const look = async (life: Life, url: string) =>
  await (await life.parley.fetch(new Request(url))).text();

const options = { serve: [sending, within], publicUrl: ORIGIN };
const seen = { action: "accept", content: { name: "welcome" } };

describe("a page of a durable tool", () => {
  it("keeps its address, and its question keeps the id that the client saw", () =>
    living(options, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await client.call("sending");
      const asked = await call.expect("elicitation/create");
      const { url, elicitationId } = asked.params;
      assert.equal(await look(life, url), "welcome");
      await life.start();
      let resumed = await client.listen(call.lastEventId);
      assert.equal(await look(life, url), "welcome", "after a restart, with the question open");
      assert.equal((await client.answer(asked, { action: "accept" })).status, 202);
      const question = await resumed.expect("elicitation/create");
      const { lastEventId } = resumed;
      await life.start();
      resumed = await client.listen(lastEventId);
      assert.equal(await look(life, url), "welcome", "after a restart, with it answered");
      await client.answer(question, seen);
      const complete = await resumed.expect("notifications/elicitation/complete");
      assert.equal(complete.params.elicitationId, elicitationId);
      const [last] = await resumed.rest();
      assert.equal(textOf(last!.result), elicitationId);
    }));

  it("can be opened within a step", () =>
    living(options, async (life) => {
      await life.start();
      const client = await connect(life);
      const call = await client.call("within");
      const question = await call.expect("elicitation/create");
      await life.start();
      const resumed = await client.listen(call.lastEventId);
      await client.answer(question, seen);
      const [last] = await resumed.rest();
      assert.equal(textOf(last!.result), "true");
    }));
});
