// expect-error: Argument of type '"pik"' is not assignable to parameter of type '"firstKey" | "secondKey"'
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .elicits({
    firstKey: { response: z.object({ cell: z.number() }) },
    secondKey: { response: z.object({ ok: z.boolean() }) },
  })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("pik", { message: "?" });
  });
