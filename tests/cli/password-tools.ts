/** Tools that ask for a secret: at any door, and in a form only. */
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

const pin = { response: z.object({ pin: z.string() }), sensitive: ["pin"] } as const;

export const unlock = createMcpTool("unlock").description("Asks for a PIN.")
  .elicits({ pin })
  .execute(function* (_params, ctx) {
    return (yield* ctx.elicit("pin", { message: "Which PIN?" })).action;
  });

export const unlockInForm = createMcpTool("unlock_in_form").description("Asks in a form.")
  .elicits({ pin: { ...pin, doors: ["form"] } })
  .execute(function* (_params, ctx) {
    return (yield* ctx.elicit("pin", { message: "Which PIN?" })).action;
  });
