/** `profile`: shows a profile. The implementation is loaded on first use. */
import { until } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { adaptErrors } from "./password-texts.ts";
import { profileResult } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";

export function profileTool(setup: BlueskySetup) {
  return createMcpTool("profile")
    .title("Bluesky: profile")
    .description(
      "Shows the profile of a Bluesky account: name, description, picture, counts and dates.",
    )
    .annotations({ readOnlyHint: true, openWorldHint: true })
    .parameters(z.object({
      account: z.string().optional().describe(
        "Handle (name.bsky.social) or DID of the account; if you leave it out, your default account is used",
      ),
    }))
    .output(profileResult)
    .execute(function* (params, ctx) {
      const { runProfile } = yield* until(import("./run-profile.ts"));
      return yield* adaptErrors(ctx.client, () => runProfile(setup, params, ctx));
    });
}
