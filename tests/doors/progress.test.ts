/** A request that waits for the person tells its client so at once, if the client wants progress. */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { type Fetch, type Message, ORIGIN } from "../support/exchange.ts";
import { TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { type Era, ERAS, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";

const ask = createMcpTool("ask").description("Asks.")
  .elicits({ who: { response: z.object({ name: z.string() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("who", { message: "Who?" });
    return answer.action;
  });

const options = { serve: [ask], publicUrl: ORIGIN };
const HOUR = 3_600_000;

interface Waiting {
  message(): Promise<Message | undefined>;
}

/** Calls a tool of either era; `_meta` has the progress token. */
async function caller(era: Era, fetch: Fetch) {
  const client = era === "legacy"
    ? await TestClient.connect(fetch, { capabilities: {} })
    : new ModernClient(fetch, { capabilities: {} });
  return async (name: string, args: object, progressToken?: string): Promise<Waiting> => {
    const params = { name, arguments: args };
    const token = progressToken === undefined ? {} : { progressToken };
    return client instanceof ModernClient
      ? await client.start("tools/call", params, { meta: token })
      : await client.start("tools/call", { ...params, _meta: token });
  };
}

for (const era of ERAS) {
  describe(`a continue_call that waits, in the ${era} era`, () => {
    it("sends progress at once, and a heartbeat later", async () => {
      const patient = { ...options, askWait: HOUR };
      await servingEra(era, patient, async ({ fetch, clock, parley }) => {
        const call = await caller(era, fetch);
        const { result } = (await (await call("ask", {})).message())!;
        const waiting = await call("continue_call", { ticket: ticketOf(result) }, "token");
        const first = (await waiting.message())!;
        assert.equal(first.method, "notifications/progress");
        assert.equal(first.params.progressToken, "token");
        assert.match(first.params.message, /person/);
        const second = waiting.message();
        await idle();
        for (let passed = 0; passed < 30_000; passed += 1_000) {
          clock.advance(1_000);
          await idle();
        }
        assert.equal((await second)!.method, "notifications/progress");
        assert.ok((await second)!.params.progress > first.params.progress);
        await answerPage(parley.fetch, linkIn(textOf(result)), { name: "Ada" });
        assert.equal((await waiting.message())!.result.content[0].text, "accept");
      });
    });

    it("sends none if the client did not ask for it", async () => {
      await servingEra(era, options, async ({ fetch, clock }) => {
        const call = await caller(era, fetch);
        const { result } = (await (await call("ask", {})).message())!;
        const only = call("continue_call", { ticket: ticketOf(result) })
          .then((waiting) => waiting.message());
        await idle();
        clock.advance(20_000);
        assert.ok((await only)!.result);
      });
    });

    it("sends none if it does not wait", async () => {
      await servingEra(era, { ...options, askWait: 0 }, async ({ fetch }) => {
        const call = await caller(era, fetch);
        const { result } = (await (await call("ask", {})).message())!;
        const again = await call("continue_call", { ticket: ticketOf(result) }, "token");
        assert.ok((await again.message())!.result);
      });
    });
  });
}
