/** Converts profiles to the tool's output format, and builds the URLs of profiles and posts. */
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

/** The web page of a profile. Uses the DID if the handle is not valid. */
function profileUrl(handle: string, did: string): string {
  const name = handle === "" || handle === "handle.invalid" ? did : handle;
  return `${WEB}/profile/${encodeURIComponent(name).replaceAll("%3A", ":")}`;
}

/** The web page of a post with a URI such as `at://did/app.bsky.feed.post/key`. */
export function postUrl(uri: string, handle?: string): string {
  const [, did = "", , key = ""] = /^at:\/\/([^/]+)\/([^/]+)\/([^/]+)/.exec(uri) ?? [];
  return `${profileUrl(handle ?? did, did)}/post/${encodeURIComponent(key)}`;
}
