import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { idle, until } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn, sendForm, show } from "./page.ts";

const pay = createMcpTool("pay").description("Pays.")
  .output(z.object({ said: z.string() }))
  .elicits({
    sure: { response: z.object({ code: z.string().min(3) }), by: "person" },
    why: { response: z.object({ why: z.string() }) },
  })
  .requires({ elicitation: true })
  .execute(function* (_params, ctx) {
    const sure = yield* ctx.elicit("sure", { message: "Really pay?" });
    if (sure.action !== "accept") return { said: sure.action };
    const why = yield* ctx.elicit("why", { message: "Why?" });
    if (why.action !== "accept") return { said: why.action };
    return { said: `${sure.content.code} via ${sure.via}, ${why.content.why} via ${why.via}` };
  });

const SERVED = { serve: [pay], publicUrl: ORIGIN };

for (const era of ERAS) {
  describe(`the door "page" in the ${era} era`, () => {
    it("gives the model a link, and continue_call waits for the answers", async () => {
      await servingEra(era, SERVED, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const first = await host.call("pay");
        const link = linkIn(textOf(first));
        const ticket = ticketOf(first);
        assert.equal(first.structuredContent.questions[0].door, "page");
        const continued = host.call("continue_call", { ticket });
        const next = await answerPage(browse, link, { code: "abc" });
        assert.match(next.html, /Here is the next question/);
        const last = await sendForm(browse, link, next.html, { why: "because" });
        assert.match(last.html, /Your answer was sent/);
        const result = await continued;
        assert.deepEqual(result.structuredContent, {
          said: "abc via page, because via page",
        });
      });
    });

    it("marks an answer that does not fit, and does not bother the tool with it", async () => {
      await servingEra(era, SERVED, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const link = linkIn(textOf(await host.call("pay")));
        const { status, html } = await answerPage(browse, link, { code: "a" });
        assert.equal(status, 422);
        assert.match(html, /Really pay\?/);
      });
    });

    it("says that it still waits when nobody has answered in time", async () => {
      await servingEra(era, SERVED, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const first = await host.call("pay");
        const continued = host.call("continue_call", { ticket: ticketOf(first) });
        await idle();
        clock.advance(20_000);
        const waiting = await continued;
        assert.match(textOf(waiting), /Do not call continue_call again before/);
        assert.equal(linkIn(textOf(waiting)), linkIn(textOf(first)));
      });
    });

    it("does not take the model's answer", async () => {
      await servingEra(era, SERVED, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("pay"));
        const refused = await host.call("continue_call", { ticket, answer: { code: "abc" } });
        assert.equal(refused.isError, true);
        const { html } = await show(browse, linkIn(textOf(refused)));
        assert.match(html, /Really pay\?/);
      });
    });

    it("counts the first of two answers, from two tabs or sent twice", async () => {
      await servingEra(era, SERVED, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const link = linkIn(textOf(await host.call("pay")));
        const [one, two] = [await show(browse, link), await show(browse, link)];
        await sendForm(browse, link, one.html, { code: "one" }, "decline");
        const late = await sendForm(browse, link, two.html, { code: "two" });
        assert.match(late.html, /was not sent|answered/);
        const again = await sendForm(browse, link, one.html, { code: "one" });
        assert.match(again.html, /The first answer counts/);
      });
    });

    it("says that the question is gone after the call was cancelled", async () => {
      await servingEra(era, SERVED, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const first = await host.call("pay");
        const link = linkIn(textOf(first));
        const { html } = await show(browse, link);
        await host.call("continue_call", { ticket: ticketOf(first), cancel: true });
        assert.equal((await show(browse, link)).status, 410);
        assert.equal((await sendForm(browse, link, html, { code: "abc" })).status, 410);
      });
    });

    it("goes by URL elicitation if the client declares it", async () => {
      await servingEra(era, SERVED, async ({ fetch, parley: { fetch: browse } }) => {
        const asked: { mode: string; url: string }[] = [];
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { url: {} } },
          async answer({ method, params }) {
            assert.equal(method, "elicitation/create");
            asked.push(params);
            await answerPage(
              browse,
              params.url,
              asked.length === 1 ? { code: "abc" } : { why: "w" },
            );
            return { action: "accept" };
          },
        });
        const result = await host.call("pay");
        assert.deepEqual(result.structuredContent, { said: "abc via page, w via page" });
        assert.deepEqual(asked.map(({ mode }) => mode), ["url", "url"]);
      });
    });

    it("waits for the page after the client has opened it, then defers", async () => {
      await servingEra(era, SERVED, async ({ fetch, clock }) => {
        let opened = false;
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { url: {} } },
          answer() {
            opened = true;
            return { action: "accept" };
          },
        });
        const calling = host.call("pay");
        await until(() => opened);
        await idle();
        clock.advance(20_000);
        ticketOf(await calling);
      });
    });

    it("passes on that the person does not open the page", async () => {
      await servingEra(era, SERVED, async ({ fetch }) => {
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { url: {} } },
          answer: () => ({ action: "decline" }),
        });
        assert.deepEqual((await host.call("pay")).structuredContent, { said: "decline" });
      });
    });
  });
}
