/** Formats a profile as Markdown. */
import { code, folded, inline, link, quotation } from "./markdown.ts";
import type { Author, Profile } from "./schemas.ts";

export function profileMarkdown(profile: Profile, raw: unknown): string {
  const { did, handle, description, avatar, createdAt, indexedAt } = profile;
  const facts = [
    `- **Handle:** @${inline(handle)}`,
    `- **DID:** ${code(did)}`,
    `- **Profile:** <${profile.url}>`,
    ...(avatar ? [`- **Avatar:** ${link("picture", avatar)}`] : []),
    `- **Followers:** ${count(profile.followers)}`,
    `- **Follows:** ${count(profile.follows)}`,
    `- **Posts:** ${count(profile.posts)}`,
    ...(createdAt ? [`- **Created:** ${inline(createdAt)}`] : []),
    ...(indexedAt ? [`- **Indexed:** ${inline(indexedAt)}`] : []),
  ];
  return [
    `# ${nameOf(profile)}`,
    ...(description ? [quotation(description)] : []),
    facts.join("\n"),
    folded("Raw JSON", raw),
  ].join("\n\n");
}

/** The display name, or the handle if there is none. */
export function nameOf({ displayName, handle }: Author): string {
  return inline(displayName ?? "") || `@${inline(handle)}`;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}
