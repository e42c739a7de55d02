/** `search`: posts that say something. What it does is loaded when it is used. */
import { until } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { searchResult } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";
import { speaking } from "./speaking.ts";

const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

const parameters = z.object({
  account: z.string().optional().describe(
    "Handle or DID of the signed-in account to search with; the default one unless told",
  ),
  query: z.string().min(1).describe('Words to look for; "in quotation marks" as they stand'),
  limit: z.int().min(1).max(100).default(20).describe("How many posts at most"),
  author: z.string().optional().describe("Only posts of this handle or DID"),
  since: moment.optional().describe("Only posts from then on: a date, or a time with its zone"),
  until: moment.optional().describe("Only posts before then"),
  sort: z.enum(["top", "latest"]).optional().describe("latest unless told"),
  cursor: z.string().optional().describe("From the page before, to get the next one"),
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
      return yield* speaking(ctx.client, () => runSearch(setup, params, ctx));
    });
}
