/** The implementation of `login`. */
import { type Operation, until } from "effection";
import { type FullToolResult, ToolError } from "parley-mcp";
import { type Desk, listing, openDesk } from "./caller-accounts.ts";
import { signIn } from "./choose-sign-in.ts";
import type { LoginParameters } from "./login.ts";
import { code, inline } from "./markdown.ts";
import { toActor } from "./names.ts";
import { adaptText, NOBODY_LISTED } from "./password-texts.ts";
import type { Context } from "./questions.ts";
import type { Account, Accounts, AccountsResult } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";

export function* runLogin(
  setup: BlueskySetup,
  params: LoginParameters,
  ctx: Context,
): Operation<FullToolResult<AccountsResult> & { structuredContent: AccountsResult }> {
  const desk = yield* openDesk(setup, ctx);
  const { told, result } = params.command === "login"
    ? yield* signIn(params, ctx, desk)
    : yield* manage(params, desk);
  const message = adaptText(accountsMarkdown(told, result), ctx.client);
  return {
    content: [{ type: "text", text: message }],
    structuredContent: { message, ...result },
  };
}

function* manage(
  { command, handle }: LoginParameters,
  desk: Desk,
): Operation<{ told: string; result: Accounts }> {
  if (command === "list") return { told: "", result: yield* listing(desk) };
  if (handle === undefined) {
    const what = command === "default" ? "choose the default account" : "delete an account";
    throw new ToolError(`Cannot ${what}: the handle is missing; pass it with "handle"`);
  }
  const { accounts } = desk;
  const account = yield* until(accounts.get(toActor(handle)));
  if (command === "default") {
    yield* until(accounts.choose(account.did));
    const told = `@${account.handle} is now the default account.`;
    return { told, result: yield* listing(desk) };
  }
  const warning = yield* revoke(desk, account);
  yield* until(accounts.remove(account.did));
  const told = `@${account.handle} is signed out, and its data is deleted here.`;
  return { told, result: yield* listing(desk, warning ? { warning } : {}) };
}

/** Revokes the sign-in at the service. The account is deleted here even if that fails. */
function* revoke(
  { setup, accounts, site: { local } }: Desk,
  account: Account,
): Operation<string | undefined> {
  if (!account.signedIn) return undefined;
  const { signOut } = yield* until(import("./atproto/mod.ts"));
  try {
    yield* until(signOut({ setup, accounts, account, local }));
    return undefined;
  } catch {
    return `${
      new URL(account.service).host
    } could not be told that @${account.handle} has signed out; to be safe, revoke the sign-in in the settings of the account.`;
  }
}

export function accountsMarkdown(
  told: string,
  { accounts, warning, link }: Accounts,
): string {
  if (told === "" && accounts.length === 0) return NOBODY_LISTED;
  const list = accounts.length === 0
    ? "Nobody is signed in to Bluesky."
    : ["## Bluesky accounts", accounts.map(line).join("\n")].join("\n\n");
  const parts = [told, warning ? `**${warning}**` : "", link && accounts.length === 0 ? "" : list];
  return parts.filter((part) => part !== "").join("\n\n");
}

function line(account: Account): string {
  const { handle, did, method, service } = account;
  const notes = [
    ...(account.default ? ["default"] : []),
    method === "oauth" ? "OAuth" : account.mainPassword ? "main password" : "app password",
    `at ${inline(URL.parse(service)?.host ?? service)}`,
    ...(account.signedIn ? [] : ["**sign in again**"]),
  ];
  return `- **@${inline(handle)}** (${notes.join(", ")}) ${code(did)}`;
}
