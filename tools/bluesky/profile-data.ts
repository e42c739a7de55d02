/** People as data, and where they are found on the web. */
import type { AppBskyActorDefs } from "@atproto/api";
import type { Author, Profile } from "./schemas.ts";

const WEB = "https://bsky.app";

export function profileOf(view: AppBskyActorDefs.ProfileViewDetailed): Profile {
  const { description, banner, createdAt, indexedAt } = view;
  return {
    ...authorOf(view),
    ...(description !== undefined && { description }),
    ...(banner !== undefined && { banner }),
    followers: view.followersCount ?? 0,
    follows: view.followsCount ?? 0,
    posts: view.postsCount ?? 0,
    ...(createdAt !== undefined && { createdAt }),
    ...(indexedAt !== undefined && { indexedAt }),
  };
}

export function authorOf(
  view: { did: string; handle: string; displayName?: unknown; avatar?: unknown },
): Author {
  const { did, handle, displayName, avatar } = view;
  return {
    did,
    handle,
    ...(typeof displayName === "string" && displayName !== "" && { displayName }),
    ...(typeof avatar === "string" && { avatar }),
    url: profileUrl(handle, did),
  };
}

/** A handle that does not lead back to its owner is of no use in an address. */
function profileUrl(handle: string, did: string): string {
  const name = handle === "" || handle === "handle.invalid" ? did : handle;
  return `${WEB}/profile/${encodeURIComponent(name).replaceAll("%3A", ":")}`;
}

/** The page of a post, by its URI: `at://did/app.bsky.feed.post/key`. */
export function postUrl(uri: string, handle?: string): string {
  const [, did = "", , key = ""] = /^at:\/\/([^/]+)\/([^/]+)\/([^/]+)/.exec(uri) ?? [];
  return `${profileUrl(handle ?? did, did)}/post/${encodeURIComponent(key)}`;
}
