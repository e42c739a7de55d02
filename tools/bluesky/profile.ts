/** `profile`: who somebody is. */
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { useAccount } from "./use-account.ts";
import { toActor } from "./names.ts";
import { profileOf } from "./profile-data.ts";
import { profileMarkdown } from "./profile-markdown.ts";
import { profile } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";

export function profileTool(setup: BlueskySetup) {
  return createMcpTool("profile")
    .title("Bluesky: profile")
    .description("Tells who somebody on Bluesky is: name, description, picture, counts and dates.")
    .annotations({ readOnlyHint: true, openWorldHint: true })
    .parameters(z.object({
      account: z.string().optional().describe(
        "Handle (name.bsky.social) or DID of whoever it is; the default account unless told",
      ),
    }))
    .output(profile)
    .execute(function* ({ account }, ctx) {
      const wanted = account === undefined ? undefined : toActor(account);
      const user = yield* useAccount(setup, ctx, wanted, "anyone");
      const actor = wanted ?? user.account.did;
      const doing = { what: `show the profile of "${actor}"`, wanted: actor };
      const { data } = yield* user.ask(
        doing,
        (agent, signal) => agent.getProfile({ actor }, { signal }),
      );
      const structuredContent = profileOf(data);
      const text = profileMarkdown(structuredContent, data);
      return { content: [{ type: "text", text }], structuredContent };
    });
}
