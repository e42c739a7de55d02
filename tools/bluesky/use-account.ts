/** Lets a tool act as a signed-in account. */
import { type Operation, until, useAbortSignal } from "effection";
import type { Agent } from "@atproto/api";
import type { McpToolContext } from "parley-mcp";
import { checkSignedIn } from "./accounts.ts";
import { openDesk } from "./caller-accounts.ts";
import type { Account } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";

export interface AccountInUse {
  readonly account: Account;
  /** Calls the service. If the tool is halted, aborts the call, but not a running token refresh. */
  ask<T>(
    doing: { what: string; wanted?: string },
    call: (agent: Agent, signal: AbortSignal) => Promise<T>,
  ): Operation<T>;
}

/**
 * Finds the account that calls the service: the named account, or the default account if none is
 * named. If `may` is "anyone" and the named account is not signed in, uses the default account.
 */
export function* useAccount(
  setup: BlueskySetup,
  ctx: McpToolContext,
  named: string | undefined,
  may: "own" | "anyone",
): Operation<AccountInUse> {
  const { accounts, site: { local } } = yield* openDesk(setup, ctx);
  const own = may === "anyone" ? yield* until(accounts.find(named)) : undefined;
  const account = own ?? (yield* until(accounts.get(may === "own" ? named : undefined)));
  checkSignedIn(account);
  const signal = yield* useAbortSignal();
  const { asAccount } = yield* until(import("./atproto/mod.ts"));
  return {
    account,
    ask: (doing, call) =>
      until(asAccount({ setup, accounts, account, local }, doing, (agent) => call(agent, signal))),
  };
}
