/** Finds the accounts of the caller of a tool. */
import { type Operation, until } from "effection";
import { type McpToolContext, type ServerSite, ToolError } from "parley-mcp";
import { Accounts } from "./accounts.ts";
import { CALLBACK, clientIdFor, clientMetadata, METADATA } from "./oauth-metadata.ts";
import type { Account, Accounts as Listed } from "./schemas.ts";
import type { BlueskySetup } from "./setup.ts";

export interface Desk {
  readonly setup: BlueskySetup;
  readonly accounts: Accounts;
  readonly principal: string;
  readonly site: ServerSite;
}

/** Servers on which the OAuth client metadata is published. */
const published = new WeakSet<ServerSite>();

export function* openDesk(setup: BlueskySetup, ctx: McpToolContext): Operation<Desk> {
  const { principal: { id: principal }, server: site } = ctx;
  if (principal === "" && !site.local) {
    throw new ToolError(
      "Cannot use Bluesky here: other people can reach this server, and it does not identify its callers; use the tool on your own machine (stdio or loopback), or ask the server's operator to make callers sign in",
    );
  }
  const clientId = clientIdFor(site);
  if (!site.local && clientId !== undefined && !published.has(site)) {
    published.add(site);
    const document = clientMetadata(clientId, `${site.url}${CALLBACK}`);
    yield* ctx.usePage({
      path: METADATA,
      open: true,
      stays: Infinity,
      *respond() {
        const headers = { "content-type": "application/json" };
        return new Response(JSON.stringify(document), { headers });
      },
    });
  }
  const accounts = new Accounts(yield* until(setup.vault()), principal);
  return { setup, accounts, principal, site };
}

/** The signed-in accounts, as the tool `login` lists them. */
export function* listing(
  { accounts }: Desk,
  more: Omit<Listed, "accounts" | "default"> = {},
): Operation<Listed> {
  const all: Account[] = yield* until(accounts.list());
  const chosen = all.find((one) => one.default);
  return { accounts: all, ...(chosen && { default: chosen.did }), ...more };
}
