/** Formats posts as Markdown: a header, a section for each post, a footer. */
import { code, inline, link, quotation } from "./markdown.ts";
import { count, nameOf } from "./profile-markdown.ts";
import type { Embed, Facet, Found, Post } from "./schemas.ts";

export function searchMarkdown(result: Found): string {
  const { account, query, posts } = result;
  const header = `# Posts about “${inline(query)}”\n\nSearched as @${inline(account)}.`;
  return [header, ...posts.map(section), footer(result)].join("\n\n");
}

function footer({ posts, total, cursor }: Found): string {
  if (posts.length === 0) {
    return cursor ? "Nothing on this page." : "Nothing was found. Try fewer or other words.";
  }
  const number = `${posts.length} post${posts.length === 1 ? "" : "s"}`;
  const shown = total === undefined ? number : `${number} of ${count(total)}`;
  const more = cursor === undefined
    ? "There are no more."
    : `For more, search again with cursor ${code(cursor)}.`;
  return `---\n\n${shown}. ${more}`;
}

function section(post: Post, index: number): string {
  const { author, text, reply, counts } = post;
  const attachments = [...post.facets.flatMap(linked), ...post.embeds.map(attached)];
  const when = post.createdAt ?? post.indexedAt;
  return [
    `## ${index + 1}. ${nameOf(author)} (@${inline(author.handle)})`,
    `${link(when, post.url)}${reply ? `, in reply to ${link("this post", reply.parentUrl)}` : ""}`,
    ...(text.trim() ? [quotation(text)] : []),
    ...(attachments.length > 0 ? [attachments.join("\n")] : []),
    `${count(counts.replies)} replies, ${count(counts.reposts)} reposts, ` +
    `${count(counts.likes)} likes, ${count(counts.quotes)} quotes · ${code(post.uri)}`,
  ].join("\n\n");
}

/** Lists links apart from the text, so that their targets are visible. */
function linked({ type, text, url }: Facet): string[] {
  return type === "link" && url !== undefined
    ? [`- **Link:** ${link(url, url)} (“${inline(text)}”)`]
    : [];
}

function attached(embed: Embed): string {
  const { type, url, alt, title, description, author, text } = embed;
  switch (type) {
    case "image":
      return `- **Image:** ${link(alt || "no description", url)}`;
    case "video":
      return `- **Video:** ${link(alt || "no description", url)}`;
    case "link":
      return `- **Link:** ${link(title || url || "", url)}${
        description ? `: ${inline(description)}` : ""
      }`;
    case "quote":
      return embed.unavailable
        ? `- **Quote:** not shown, ${embed.unavailable}`
        : `- **Quote:** ${link(`@${author?.handle ?? "somebody"}`, url)}: ${inline(text ?? "")}`;
    case "other":
      return `- **Attached:** ${inline(title ?? "something else")}`;
  }
}
