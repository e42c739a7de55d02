/** The implementation of `search`. */
import type { Operation } from "effection";
import type { FullToolResult, McpToolContext } from "parley-mcp";
import { toActor } from "./names.ts";
import { postOf } from "./post-data.ts";
import { searchMarkdown } from "./post-markdown.ts";
import type { Found, SearchResult } from "./schemas.ts";
import type { SearchParameters } from "./search.ts";
import type { BlueskySetup } from "./setup.ts";
import { useAccount } from "./use-account.ts";

export function* runSearch(
  setup: BlueskySetup,
  params: SearchParameters,
  ctx: McpToolContext,
): Operation<FullToolResult<SearchResult> & { structuredContent: SearchResult }> {
  const { query, limit, since, until, sort, cursor } = params;
  const author = params.author === undefined ? undefined : toActor(params.author);
  const named = params.account === undefined ? undefined : toActor(params.account);
  const user = yield* useAccount(setup, ctx, named, "own");
  const filters = Object.entries({ author, since, until, sort, cursor });
  const given = Object.fromEntries(filters.filter(([, value]) => value !== undefined));
  const { data } = yield* user.ask(
    { what: "search Bluesky", ...(author && { wanted: author }) },
    (agent, signal) => agent.app.bsky.feed.searchPosts({ q: query, limit, ...given }, { signal }),
  );
  const found: Found = {
    account: user.account.handle,
    query,
    posts: data.posts.map(postOf),
    ...(data.hitsTotal !== undefined && { total: data.hitsTotal }),
    ...(data.cursor !== undefined && { cursor: data.cursor }),
  };
  const markdown = searchMarkdown(found);
  return {
    content: [{ type: "text", text: markdown }],
    structuredContent: { ...found, markdown },
  };
}
