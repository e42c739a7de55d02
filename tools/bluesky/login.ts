/** `login`: signs in, and keeps the accounts that are. */
import { type Operation, until } from "effection";
import { createMcpTool, ToolError } from "parley-mcp";
import { z } from "zod";
import { type Desk, listing, openDesk } from "./desk.ts";
import { accountsMarkdown } from "./login-markdown.ts";
import { toActor } from "./names.ts";
import { type AccountsResult, accountsResult, methods } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";
import { questions, signIn } from "./ways-in.ts";
import { ABOUT_PASSWORDS } from "./words.ts";

const parameters = z.object({
  command: z.enum(["login", "list", "default", "delete"]).default("login").describe(
    "login: sign an account in; list: show who is signed in; default: use this account where none is named; delete: sign an account out and forget it",
  ),
  handle: z.string().optional().describe(
    "Handle (name.bsky.social) or DID; needed for default and delete, helpful for login",
  ),
  password: z.string().optional().describe(
    `An app password, where nothing better is possible; leave it out, and the person is asked in a safe way. ${ABOUT_PASSWORDS}`,
  ),
  service: z.string().optional().describe(
    "Where the account lives; https://bsky.social unless told",
  ),
  port: z.int().min(1).max(65_535).optional().describe(
    "A port of this machine for the browser to come back to; any that is free unless told",
  ),
  method: z.enum(methods).optional().describe(
    "oauth: at Bluesky itself, in the browser (recommended); page: an app password, typed into a page of this server; app-password: an app password, typed into a form or handed over. The best one possible unless told",
  ),
});
export type LoginParameters = z.infer<typeof parameters>;

export function loginTool(setup: BlueskySetup) {
  return createMcpTool("login")
    .title("Bluesky: sign in")
    .description(
      "Signs in to Bluesky, and lists, chooses or deletes the accounts that are signed in. " +
        "Call it without anything to let the person sign in the safest way.",
    )
    .annotations({ readOnlyHint: false, destructiveHint: true, openWorldHint: true })
    .parameters(parameters)
    .output(accountsResult)
    .elicits(questions)
    .execute(function* (params, ctx) {
      const desk = yield* openDesk(setup, ctx);
      const { told, result } = params.command === "login"
        ? yield* signIn(params, ctx, desk)
        : yield* manage(params, desk);
      return {
        content: [{ type: "text", text: accountsMarkdown(told, result) }],
        structuredContent: result,
      };
    });
}

function* manage(
  { command, handle }: LoginParameters,
  desk: Desk,
): Operation<{ told: string; result: AccountsResult }> {
  if (command === "list") return { told: "", result: yield* listing(desk) };
  if (handle === undefined) {
    throw new ToolError(
      `Cannot ${command} an account: no handle is given; say whose with "handle"`,
    );
  }
  const { accounts } = desk;
  const account = yield* until(accounts.get(toActor(handle)));
  if (command === "default") {
    yield* until(accounts.choose(account.did));
    const told = `@${account.handle} is used from now on, where no account is named.`;
    return { told, result: yield* listing(desk) };
  }
  const warning = yield* revoke(desk, account);
  yield* until(accounts.remove(account.did));
  const told = `@${account.handle} is signed out, and nothing of it is stored any more.`;
  return { told, result: yield* listing(desk, warning ? { warning } : {}) };
}

/** Tells the service. If it does not hear, the account is forgotten here all the same. */
function* revoke(
  { setup, accounts }: Desk,
  account: AccountsResult["accounts"][number],
): Operation<string | undefined> {
  if (!account.signedIn) return undefined;
  const { signOut } = yield* until(import("./atproto/mod.ts"));
  try {
    yield* until(signOut({ setup, accounts, account }));
    return undefined;
  } catch {
    return `${
      new URL(account.service).host
    } could not be told that @${account.handle} has signed out; to be safe, take the sign-in back in the settings of the account.`;
  }
}
