// expect-error: Property 'content' does not exist on type
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .elicits({ pick: { response: z.object({ cell: z.number() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("pick", { message: "?" });
    return answer.content;
  });
