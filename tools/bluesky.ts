/** Bluesky: who somebody is, what people say, and signing in safely. */
import { loginTool } from "./bluesky/login.ts";
import { profileTool } from "./bluesky/profile.ts";
import { searchTool } from "./bluesky/search.ts";
import { type BlueskySetup, defaultSetup } from "./bluesky/setup.ts";

/** The tools, on whatever they are told to stand on. */
export function createBlueskyTools(setup: BlueskySetup) {
  return { login: loginTool(setup), profile: profileTool(setup), search: searchTool(setup) };
}

export const { login, profile, search } = createBlueskyTools(defaultSetup());
