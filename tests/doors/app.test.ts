import assert from "node:assert/strict";
import { createMcpTool, type ManualClock } from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, type Host, type Result, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";

const APPS = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};

const pick = createMcpTool("pick").description("Picks.")
  .parameters(z.object({ from: z.string() }))
  .output(z.object({ said: z.string() }))
  .elicits({
    one: { response: z.object({ n: z.int().max(9) }), by: "person" },
    two: { response: z.object({ n: z.int() }), by: "person" },
  })
  .requires({ elicitation: true })
  .execute(function* ({ from }, ctx) {
    const one = yield* ctx.elicit("one", { message: `One of ${from}?` });
    const two = yield* ctx.elicit("two", { message: `Two of ${from}?` });
    const parts = [one, two].map((answer) =>
      answer.action === "accept" ? `${answer.content.n} via ${answer.via}` : answer.action
    );
    return { said: parts.join(", ") };
  });

const ask = (result: Result) => result._meta["parley/ask"];

/** Answers the question of a state. */
async function answer(host: Host, state: Result, content: object): Promise<Result> {
  const { secret, question } = state;
  return await host.call("answer_call", {
    secret,
    answer: { question: question.id, action: "accept", content },
  });
}

/** Calls the tool. Its view does not check in, so the call is deferred after two seconds. */
async function deferredCall(host: Host, clock: ManualClock): Promise<Result> {
  const calling = host.call("pick", { from: "A" });
  await idle();
  clock.advance(2_000);
  return await calling;
}

for (const era of ERAS) {
  describe(`the door "app" in the ${era} era`, () => {
    it("lets the view answer with its secret, and the model continue the call", async () => {
      await servingEra(era, { serve: [pick] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const deferral = await deferredCall(host, clock);
        const ticket = ticketOf(deferral);
        assert.match(textOf(deferral), /End your turn/);
        const first = ask(deferral);
        assert.ok(
          !JSON.stringify([deferral.content, deferral.structuredContent]).includes(first.secret),
        );
        assert.equal(first.question.message, "One of A?");
        const invalid = ask(await answer(host, first, { n: 10 }));
        assert.equal(invalid.problems[0].field, "n");
        const second = ask(await answer(host, first, { n: 1 }));
        assert.equal(second.question.message, "Two of A?");
        const done = await answer(host, second, { n: 2 });
        assert.equal(ask(done).state, "done");
        const result = await host.call("continue_call", { ticket });
        assert.deepEqual(result.structuredContent, { said: "1 via app, 2 via app" });
      });
    });

    it("holds the call while its view is there, so that the model simply gets the result", async () => {
      const principal = () => "ann";
      await servingEra(era, { serve: [pick], principal }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const view = await connectHost(era, fetch, { capabilities: APPS });
        const calling = host.call("pick", { from: "A" });
        await idle();
        const strange = await view.call("answer_call", {
          find: { tool: "pick", arguments: { from: "B" } },
        });
        assert.equal(strange.isError, true);
        const found = await view.call("answer_call", {
          find: { tool: "pick", arguments: { from: "A" } },
        });
        clock.advance(10_000);
        assert.equal(ask(found).tell, false);
        const second = ask(await answer(view, ask(found), { n: 1 }));
        assert.equal(ask(await answer(view, second, { n: 2 })).state, "done");
        assert.deepEqual((await calling).structuredContent, { said: "1 via app, 2 via app" });
      });
    });

    it("finds its place again by the ticket", async () => {
      await servingEra(era, { serve: [pick] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const calling = host.call("pick", { from: "A" });
        await idle();
        clock.advance(2_000);
        const ticket = ticketOf(await calling);
        const state = ask(await host.call("answer_call", { ticket }));
        assert.equal(state.question.key, "one");
        assert.equal(ask(await answer(host, state, { n: 1 })).question.key, "two");
      });
    });

    it("does not let strangers find a call", async () => {
      await servingEra(era, { serve: [pick] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const other = await connectHost(era, fetch, { capabilities: APPS });
        const calling = host.call("pick", { from: "A" });
        await idle();
        const found = await other.call("answer_call", { find: { tool: "pick" } });
        assert.equal(found.isError, true);
        clock.advance(2_000);
        ticketOf(await calling);
      });
    });

    it("is left when the model waits again and no view has asked for the call", async () => {
      const options = { serve: [pick], publicUrl: ORIGIN, askWait: 0 };
      await servingEra(era, options, async ({ fetch, clock, parley }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const first = await deferredCall(host, clock);
        const again = await host.call("continue_call", { ticket: ticketOf(first) });
        assert.match(textOf(again), /the person sees a form/);
        const moved = await host.call("continue_call", { ticket: ticketOf(again) });
        const link = linkIn(textOf(moved));
        // The page waits for another question, but the tool asks in a view again.
        const answering = answerPage(parley.fetch, link, { n: "1" });
        await idle();
        clock.advance(10_000);
        await answering;
        const next = await host.call("continue_call", { ticket: ticketOf(moved) });
        assert.equal(linkIn(textOf(next)), link);
        await answerPage(parley.fetch, link, { n: "2" });
        const last = await host.call("continue_call", { ticket: ticketOf(next) });
        assert.equal(last.structuredContent.said, "1 via page, 2 via page");
      });
    });

    it("stays if a view has asked for the call, and if there is no other door", async () => {
      for (const seen of [true, false]) {
        const options = { serve: [pick], askWait: 0, ...(seen && { publicUrl: ORIGIN }) };
        await servingEra(era, options, async ({ fetch, clock }) => {
          const host = await connectHost(era, fetch, { capabilities: APPS });
          const ticket = ticketOf(await deferredCall(host, clock));
          if (seen) await host.call("answer_call", { ticket });
          for (let i = 0; i < 3; i++) {
            const waiting = await host.call("continue_call", { ticket });
            assert.match(textOf(waiting), /the person sees a form/);
          }
        });
      }
    });

    it("is closed to answers that do not come from its view", async () => {
      await servingEra(era, { serve: [pick] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const deferral = await deferredCall(host, clock);
        const ticket = ticketOf(deferral);
        const byModel = await host.call("continue_call", { ticket, answer: { n: 1 } });
        assert.equal(byModel.isError, true);
        const { question } = ask(deferral);
        const forged = await host.call("answer_call", {
          secret: `s_${ticket.slice(2)}`,
          answer: { question: question.id, action: "accept", content: { n: 1 } },
        });
        assert.equal(forged.isError, true);
        const plain = await connectHost(era, fetch);
        const { error, result } = await plain.request("tools/call", {
          name: "answer_call",
          arguments: { ticket },
        });
        assert.ok(error || result.isError);
      });
    });
  });
}
