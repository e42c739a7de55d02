/** `login`: signs in and manages accounts. The implementation is loaded on first use. */
import { until } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { questions } from "./questions.ts";
import { accountsResult, methods } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";
import { ABOUT_PASSWORDS, adaptErrors } from "./password-texts.ts";

const parameters = z.object({
  command: z.enum(["login", "list", "default", "delete"]).default("login").describe(
    "login: sign in to an account; list: list the signed-in accounts; default: make this account the default; delete: sign out of an account and delete its data here",
  ),
  handle: z.string().optional().describe(
    "Handle (name.bsky.social) or DID; required for default and delete, optional for login",
  ),
  password: z.string().optional().describe(
    `An app password, if no better method is possible; if you leave it out, the person is asked in a safe way. ${ABOUT_PASSWORDS}`,
  ),
  service: z.string().optional().describe(
    "The service that hosts the account; default: https://bsky.social",
  ),
  port: z.int().min(1).max(65_535).optional().describe(
    "The port on this machine to which the browser returns; default: any free port",
  ),
  method: z.enum(methods).optional().describe(
    "oauth: sign in at Bluesky itself, in the browser (recommended); page: type an app password into a page of this server; app-password: type an app password into a form if this server allows that, otherwise into a page. Default: the best method that the client supports",
  ),
});
export type LoginParameters = z.infer<typeof parameters>;

export function loginTool(setup: BlueskySetup) {
  return createMcpTool("login")
    .title("Bluesky: sign in")
    .description(
      "Signs in to Bluesky, and lists, chooses or deletes the accounts that are signed in. " +
        "Call it without arguments to let the person sign in the safest way.",
    )
    .annotations({ readOnlyHint: false, destructiveHint: true, openWorldHint: true })
    .parameters(parameters)
    .output(accountsResult)
    .elicits(questions)
    .execute(function* (params, ctx) {
      const { runLogin } = yield* until(import("./run-login.ts"));
      return yield* adaptErrors(ctx.client, () => runLogin(setup, params, ctx));
    });
}
