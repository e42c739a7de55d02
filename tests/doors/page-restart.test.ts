/** A person who has a question open in a browser can answer it after the server was restarted. */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { living } from "../support/life.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, textOf, ticketOf } from "./host.ts";
import { linkIn, sendForm, show } from "./page.ts";

const pay = createMcpTool("pay").description("Pays.").durable()
  .output(z.object({ said: z.string() }))
  .elicits({
    sure: {
      response: z.object({ name: z.string(), code: z.string() }),
      sensitive: ["code"],
      by: "person",
    },
  })
  .execute(function* (_params, ctx) {
    const sure = yield* ctx.elicit("sure", { message: "Really pay?" });
    return {
      said: sure.action === "accept" ? `${sure.content.name} via ${sure.via}` : sure.action,
    };
  });

for (const era of ERAS) {
  describe(`the page of a durable call (${era})`, () => {
    it("takes an answer after a restart, once the person has sent it again", () =>
      living({ serve: [pay], publicUrl: ORIGIN }, async (life) => {
        await life.start();
        const browse = (request: Request) => life.parley.fetch(request);
        const deferral = await (await connectHost(era, browse)).call("pay");
        const link = linkIn(textOf(deferral));
        const before = await show(browse, link);
        assert.match(before.html, /Really pay\?/);
        await life.start();
        // Nothing is lost: the page says so, and keeps what is not secret.
        const fields = { name: "Ada", code: "s3cret" };
        const late = await sendForm(browse, link, before.html, fields);
        assert.equal(late.status, 409);
        assert.match(late.html, /the form was out of date/);
        assert.match(late.html, /value="Ada"/);
        assert.doesNotMatch(late.html, /s3cret/);
        const sent = await sendForm(browse, link, late.html, fields);
        assert.match(sent.html, /Your answer was sent/);
        const ticket = ticketOf(deferral);
        const result = await (await connectHost(era, browse)).call("continue_call", { ticket });
        assert.deepEqual(result.structuredContent, { said: "Ada via page" });
      }));
  });
}
