/** A person with an account on the test network, and an assistant with the tools. */
import { type Operation, until } from "effection";
import { createHmac } from "node:crypto";
import type { Page } from "playwright-core";
import { Accounts } from "../../../tools/bluesky/accounts.ts";
import { signOut } from "../../../tools/bluesky/atproto/mod.ts";
import { defaultSetup } from "../../../tools/bluesky/setup.ts";
import {
  type BlueskyAccount,
  type BlueskyNetwork,
  useBlueskyNetwork,
} from "../../bluesky-net/network.ts";
import { useFolder } from "../../support/folder.ts";
import { type Assistant, type CLIENTS, useAssistant } from "./assistant.ts";
import type { Served, Way } from "./servers.ts";

export interface World {
  readonly network: BlueskyNetwork;
  readonly person: BlueskyAccount;
  readonly served: Served;
  readonly assistant: Assistant;
  /** What the server has stored. */
  readonly accounts: Accounts;
}

export function* useWorld(way: Way, can: keyof typeof CLIENTS): Operation<World> {
  const network = yield* useBlueskyNetwork();
  const person = yield* until(network.createAccount());
  const folder = yield* useFolder();
  const served = yield* way.use(network, folder, { formPasswords: true });
  const assistant = yield* useAssistant(served.address, way.era, can);
  return { network, person, served, assistant, accounts: new Accounts(served.vault, "") };
}

/** Opens a page as a visitor whom the service has not seen before. */
export async function visit(page: Page, url: string): Promise<void> {
  await page.context().clearCookies();
  await page.goto(url);
}

/** Signs in at the service, as a person who was redirected there, and accepts or refuses. */
export async function answerAtService(
  page: Page,
  { handle, password }: BlueskyAccount,
  answer: "yes" | "no",
): Promise<void> {
  const username = page.locator('input[name="username"]');
  // It first asks unknown visitors whether they have an account.
  const known = page.getByRole("button", { name: /sign in/i });
  await username.or(known).first().waitFor();
  if (!await username.isVisible()) await known.first().click();
  await username.waitFor();
  // It is filled in already if we named the account.
  if (await username.isEditable()) await username.fill(handle);
  await page.locator('input[name="password"]').fill(password);
  await page.locator('form button[type="submit"]').click();
  await username.waitFor({ state: "detached" });
  const buttons = { yes: /authorize|accept|allow/i, no: /deny|cancel|reject/i };
  await page.getByRole("button", { name: buttons[answer] }).click();
}

/** Replaces the stored access token by an expired one, so that it has to be refreshed. */
export async function expireAccess(
  { accounts, network: { jwtSecret } }: World,
  did: string,
): Promise<void> {
  const credentials = (await accounts.credentials(did))!;
  // deno-lint-ignore no-explicit-any
  const secret = credentials.secret as any;
  if (credentials.method === "oauth") {
    secret.tokenSet.expires_at = new Date(0).toISOString();
  } else {
    const claims = JSON.parse(atob(secret.session.accessJwt.split(".")[1]));
    secret.session.accessJwt = signed({ ...claims, exp: 1, iat: 0 }, jwtSecret);
  }
  await accounts.keep(did, { ...credentials, secret });
}

/** Revokes a sign-in at the service, without the server's knowledge. */
export async function revokeSilently({ accounts, network }: World, did: string): Promise<void> {
  const account = (await accounts.find(did))!;
  const setup = { ...defaultSetup({}), service: network.pds, plc: network.plc };
  await signOut({ setup, accounts, account, local: true });
}

function signed(claims: object, secret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ typ: "at+jwt", alg: "HS256" })}.${part(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}
