/** The Bluesky tools: `login`, `profile` and `search`. */
import { loginTool } from "./bluesky/login.ts";
import { profileTool } from "./bluesky/profile.ts";
import { searchTool } from "./bluesky/search.ts";
import { type BlueskySetup, defaultSetup } from "./bluesky/setup.ts";

/** Creates the tools with a given network, vault and clock. */
export function createBlueskyTools(setup: BlueskySetup) {
  return { login: loginTool(setup), profile: profileTool(setup), search: searchTool(setup) };
}

export const { login, profile, search } = createBlueskyTools(defaultSetup());
