// expect-error: Type 'string' is not assignable to type 'OutputReturn<{ n: number; }>'
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .output(z.object({ n: z.number() }))
  .execute(function* () {
    return "one";
  });
