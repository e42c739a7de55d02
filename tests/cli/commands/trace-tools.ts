/** A tool for the tests of `parley call --trace`, as a module that the program loads. */
import { createMcpTool } from "parley-mcp";

export const count = createMcpTool("count").description("Counts.").execute(function* (_, ctx) {
  yield* ctx.notify("one");
  yield* ctx.notify("two");
  return "done";
});
