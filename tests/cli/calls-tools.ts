/** Durable tools whose calls `parley calls` shows, as a module that the program loads. */
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

export const order = createMcpTool("order").description("Orders.").durable()
  .parameters(z.object({ what: z.string() }))
  .elicits({
    sure: { response: z.object({ yes: z.boolean() }) },
    card: { response: z.object({ number: z.string() }), sensitive: ["number"], doors: ["form"] },
  })
  .execute(function* ({ what }, ctx) {
    const { action, ...sure } = yield* ctx.elicit("sure", { message: `Order ${what}?` });
    if (what !== "gold") return `${action} via ${"via" in sure ? sure.via : "nobody"}`;
    const card = yield* ctx.elicit("card", { message: "Which card?" });
    return card.action === "accept" ? `paid with ${card.content.number.length} digits` : action;
  });
