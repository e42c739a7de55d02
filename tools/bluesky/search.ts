/** `search`: posts that say something. */
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { toActor } from "./names.ts";
import { postOf } from "./post-data.ts";
import { searchMarkdown } from "./post-markdown.ts";
import { type SearchResult, searchResult } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";
import { useAccount } from "./use-account.ts";

const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

export function searchTool(setup: BlueskySetup) {
  return createMcpTool("search")
    .title("Bluesky: search posts")
    .description(
      "Finds posts on Bluesky. Returns them with their authors, links, embeds and counts.",
    )
    .annotations({ readOnlyHint: true, openWorldHint: true })
    .parameters(z.object({
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
    }))
    .output(searchResult)
    .execute(function* (params, ctx) {
      const { query, limit, since, until, sort, cursor } = params;
      const author = params.author === undefined ? undefined : toActor(params.author);
      const named = params.account === undefined ? undefined : toActor(params.account);
      const user = yield* useAccount(setup, ctx, named, "own");
      const filters = { author, since, until, sort, cursor };
      const given = Object.entries(filters).filter(([, value]) => value !== undefined);
      const asked = { q: query, limit, ...Object.fromEntries(given) };
      const { data } = yield* user.ask(
        { what: "search Bluesky", ...(author && { wanted: author }) },
        (agent, signal) => agent.app.bsky.feed.searchPosts(asked, { signal }),
      );
      const structuredContent: SearchResult = {
        account: user.account.handle,
        query,
        posts: data.posts.map(postOf),
        ...(data.hitsTotal !== undefined && { total: data.hitsTotal }),
        ...(data.cursor !== undefined && { cursor: data.cursor }),
      };
      const text = searchMarkdown(structuredContent);
      return { content: [{ type: "text", text }], structuredContent };
    });
}
