// expect-error: Property 'board' is missing in type '{ message: string; }' but required in type '{ board: string; }'
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .elicits({
    pick: { response: z.object({ cell: z.number() }), context: z.object({ board: z.string() }) },
  })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("pick", { message: "?" });
  });
