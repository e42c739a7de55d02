/** The accounts for reading. */
import { code, inline } from "./markdown.ts";
import type { Account, Accounts } from "./schemas.ts";
import { NOBODY_LISTED } from "./password-texts.ts";

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
