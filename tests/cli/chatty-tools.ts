/** A tool whose text says more than its data, and one whose text does not. */
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

const output = z.object({ n: z.int() });
const saying = (text: string) => ({
  content: [{ type: "text" as const, text }],
  structuredContent: { n: 1 },
});

export const chatty = createMcpTool("chatty").description("Says more than its data.")
  .output(output)
  .execute(function* () {
    return saying("s3cret");
  });

export const terse = createMcpTool("terse").description("Says what is in its data.")
  .output(output)
  .execute(function* () {
    return saying("1");
  });
