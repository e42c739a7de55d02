/**
 * Converts posts to the tool's output format. Posts are untrusted, so invalid parts are left out.
 */
import type { AppBskyFeedDefs } from "@atproto/api";
import { authorOf, postUrl } from "./profile-data.ts";
import type { Embed, Facet, Post } from "./schemas.ts";

type Loose = { readonly [key: string]: unknown };

export function postOf(view: AppBskyFeedDefs.PostView): Post {
  const record = loose(view.record);
  const text = string(record["text"]) ?? "";
  const parent = loose(loose(record["reply"])["parent"]);
  const root = loose(loose(record["reply"])["root"]);
  const parentUri = string(parent["uri"]);
  return {
    uri: view.uri,
    cid: view.cid,
    url: postUrl(view.uri, view.author.handle),
    author: authorOf(view.author),
    text,
    languages: list(record["langs"]).flatMap((language) => string(language) ?? []),
    facets: list(record["facets"]).flatMap((facet) => facetsOf(loose(facet), text)),
    embeds: embedsOf(view.embed),
    ...(parentUri !== undefined && {
      reply: {
        parent: parentUri,
        parentUrl: postUrl(parentUri),
        root: string(root["uri"]) ?? parentUri,
      },
    }),
    counts: {
      replies: view.replyCount ?? 0,
      reposts: view.repostCount ?? 0,
      likes: view.likeCount ?? 0,
      quotes: view.quoteCount ?? 0,
    },
    ...optional("createdAt", string(record["createdAt"])),
    indexedAt: view.indexedAt,
  };
}

/** The links, mentions and tags in a text. Positions are byte offsets in UTF-8. */
function facetsOf(facet: Loose, text: string): Facet[] {
  const { byteStart, byteEnd } = loose(facet["index"]);
  if (!isCount(byteStart) || !isCount(byteEnd) || byteEnd <= byteStart) return [];
  const bytes = new TextEncoder().encode(text);
  if (byteEnd > bytes.length) return [];
  const place = {
    byteStart,
    byteEnd,
    text: new TextDecoder().decode(bytes.slice(byteStart, byteEnd)),
  };
  return list(facet["features"]).map((given) => {
    const feature = loose(given);
    switch (string(feature["$type"])) {
      case "app.bsky.richtext.facet#mention":
        return { type: "mention", ...place, ...optional("did", string(feature["did"])) };
      case "app.bsky.richtext.facet#link":
        return { type: "link", ...place, ...optional("url", string(feature["uri"])) };
      case "app.bsky.richtext.facet#tag":
        return { type: "tag", ...place, ...optional("tag", string(feature["tag"])) };
      default:
        return { type: "other", ...place };
    }
  });
}

function embedsOf(given: unknown): Embed[] {
  const view = loose(given);
  switch (string(view["$type"])) {
    case undefined:
      return [];
    case "app.bsky.embed.images#view":
      return list(view["images"]).map((one) => {
        const image = loose(one);
        return {
          type: "image",
          alt: string(image["alt"]) ?? "",
          ...optional("url", string(image["fullsize"])),
          ...optional("thumbnail", string(image["thumb"])),
        };
      });
    case "app.bsky.embed.external#view": {
      const external = loose(view["external"]);
      return [{
        type: "link",
        ...optional("url", string(external["uri"])),
        ...optional("title", string(external["title"])),
        ...optional("description", string(external["description"])),
        ...optional("thumbnail", string(external["thumb"])),
      }];
    }
    case "app.bsky.embed.video#view":
      return [{
        type: "video",
        ...optional("url", string(view["playlist"])),
        ...optional("thumbnail", string(view["thumbnail"])),
        ...optional("alt", string(view["alt"])),
      }];
    case "app.bsky.embed.record#view":
      return [quoteOf(loose(view["record"]))];
    case "app.bsky.embed.recordWithMedia#view":
      return [...embedsOf(view["media"]), quoteOf(loose(loose(view["record"])["record"]))];
    default:
      return [{ type: "other", ...optional("title", string(view["$type"])) }];
  }
}

function quoteOf(record: Loose): Embed {
  const uri = string(record["uri"]);
  const type = string(record["$type"]);
  if (type !== "app.bsky.embed.record#viewRecord" || uri === undefined) {
    const why = type?.endsWith("#viewNotFound")
      ? "it was deleted"
      : type?.endsWith("#viewBlocked")
      ? "it is blocked"
      : type?.endsWith("#viewDetached")
      ? "its author does not allow this quote"
      : undefined;
    return why
      ? { type: "quote", ...optional("uri", uri), unavailable: why }
      : { type: "other", ...optional("uri", uri), ...optional("title", type) };
  }
  const author = loose(record["author"]);
  const handle = string(author["handle"]) ?? string(author["did"]) ?? "";
  return {
    type: "quote",
    uri,
    url: postUrl(uri, handle),
    author: authorOf({ ...author, did: string(author["did"]) ?? "", handle }),
    ...optional("text", string(loose(record["value"])["text"])),
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}

function loose(value: unknown): Loose {
  return typeof value === "object" && value !== null ? value as Loose : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function string(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && value as number >= 0;
}
