// expect-error: this form accepts answers that the declared one does not
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .elicits({ pick: { response: z.object({ cell: z.enum(["1", "2"]) }) } })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("pick", { message: "?" }, { response: z.object({ cell: z.string() }) });
  });
