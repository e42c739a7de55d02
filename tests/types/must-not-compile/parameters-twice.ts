// expect-error: is not assignable to parameter of type '"parameters() is already set"'
import { z } from "zod";
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").description("d")
  .parameters(z.object({ a: z.string() }))
  .parameters(z.object({ b: z.string() }))
  .execute(function* () {});
