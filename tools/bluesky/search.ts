/** `search`: finds posts. The implementation is loaded on first use. */
import { until } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { adaptErrors } from "./password-texts.ts";
import { searchResult } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";

const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

const parameters = z.object({
  account: z.string().optional().describe(
    "Handle or DID of the signed-in account to search with; if you leave it out, the default account is used",
  ),
  query: z.string().min(1).describe(
    'Words to search for; "in quotation marks" for an exact phrase',
  ),
  limit: z.int().min(1).max(100).default(20).describe("Maximum number of posts"),
  author: z.string().optional().describe("Only posts by this handle or DID"),
  since: moment.optional().describe(
    "Only posts since this date, or since this date and time with a time zone",
  ),
  until: moment.optional().describe("Only posts before this date, or date and time"),
  sort: z.enum(["top", "latest"]).optional().describe("The order of the posts; default: latest"),
  cursor: z.string().optional().describe("The cursor of the previous page, to get the next one"),
});
export type SearchParameters = z.infer<typeof parameters>;

export function searchTool(setup: BlueskySetup) {
  return createMcpTool("search")
    .title("Bluesky: search posts")
    .description(
      "Finds posts on Bluesky. Returns them with their authors, links, embeds and counts.",
    )
    .annotations({ readOnlyHint: true, openWorldHint: true })
    .parameters(parameters)
    .output(searchResult)
    .execute(function* (params, ctx) {
      const { runSearch } = yield* until(import("./run-search.ts"));
      return yield* adaptErrors(ctx.client, () => runSearch(setup, params, ctx));
    });
}
