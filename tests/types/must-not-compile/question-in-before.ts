// expect-error: Property 'elicit' does not exist on type 'McpToolServerContext'
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .elicits({ pick: { response: z.object({ cell: z.number() }) } })
  .handoff({
    *before(_params, ctx) {
      yield* ctx.elicit("pick", { message: "?" });
    },
    *client() {},
    *after() {},
  });
