/** The implementation of `profile`. */
import type { Operation } from "effection";
import type { FullToolResult, McpToolContext } from "parley-mcp";
import { toActor } from "./names.ts";
import { profileOf } from "./profile-data.ts";
import { profileMarkdown } from "./profile-markdown.ts";
import type { ProfileResult } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";
import { useAccount } from "./use-account.ts";

export function* runProfile(
  setup: BlueskySetup,
  { account }: { account?: string | undefined },
  ctx: McpToolContext,
): Operation<FullToolResult<ProfileResult> & { structuredContent: ProfileResult }> {
  const wanted = account === undefined ? undefined : toActor(account);
  const user = yield* useAccount(setup, ctx, wanted, "anyone");
  const actor = wanted ?? user.account.did;
  const doing = { what: `show the profile of "${actor}"`, wanted: actor };
  const { data } = yield* user.ask(
    doing,
    (agent, signal) => agent.getProfile({ actor }, { signal }),
  );
  const profile = profileOf(data);
  const markdown = profileMarkdown(profile, data);
  return {
    content: [{ type: "text", text: markdown }],
    structuredContent: { ...profile, markdown },
  };
}
