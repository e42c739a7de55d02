/** A tool that says how its answer came, for programs that load it. */
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

export const how = createMcpTool("how").description("Says how the answer came.").durable()
  .elicits({ n: { response: z.object({ n: z.string().meta({ title: "Your n" }) }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("n", { message: "Which n?" });
    if (answer.action !== "accept") return answer.action;
    return `${answer.via} after ${answer.elapsed} ms`;
  });
