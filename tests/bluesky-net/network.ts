/**
 * A real AT Protocol network on loopback, for tests: PLC directory, PDS and AppView from
 * the published packages, with three accounts and thirty posts. One network serves a whole
 * run of the suite, on both runtimes at once: leave the seeded accounts as they are, and make
 * one of your own to change things.
 *
 *     const onNetwork = it.unless(absence("bluesky"));
 *     onNetwork("logs in", function* () {
 *       const network = yield* useBlueskyNetwork();
 *       const erin = yield* until(network.createAccount());
 *
 * Where it differs from bsky.social:
 * - handles end in `.test` and resolve at the PDS only; an OAuth client must allow http issuers;
 * - searchPosts is a case-sensitive LIKE on the text, newest first: it ignores author, tag,
 *   since, until, lang, mentions, domain, url and sort, takes several words for one string,
 *   and answers a bad cursor with 500;
 * - images come from the AppView, and a video's playlist from nowhere.
 */
import { type Operation, resource, until } from "effection";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import type { BlueskyAccount, NetworkDescription, PostRef } from "./description.ts";
import { startBlueskyNetwork, VARIABLE } from "./host.ts";

export type { BlueskyAccount, PostRef } from "./description.ts";

export interface BlueskyNetwork extends NetworkDescription {
  /** A new account at the PDS, under a unique name. */
  createAccount(): Promise<BlueskyAccount>;
  createAppPassword(account: BlueskyAccount, name: string): Promise<string>;
  /** Ends its sessions too: their tokens cannot be refreshed any more. */
  revokeAppPassword(account: BlueskyAccount, name: string): Promise<void>;
  takeDown(account: BlueskyAccount): Promise<void>;
  restore(account: BlueskyAccount): Promise<void>;
  /** Posts, and waits until a search finds it. */
  post(account: BlueskyAccount, text: string): Promise<PostRef>;
}

/** The app password that `createAccount()` made, by the name under which it can be revoked. */
export const APP_PASSWORD_NAME = "parley tests";

/** The network of this run of the suite; outside such a run, one for this test alone. */
export function useBlueskyNetwork(): Operation<BlueskyNetwork> {
  return resource(function* (provide) {
    const running = process.env[VARIABLE];
    if (running !== undefined && existsSync(running)) return yield* provide(networkIn(running));
    const own = yield* until(startBlueskyNetwork());
    try {
      yield* provide(networkIn(own.description));
    } finally {
      yield* until(own.stop());
    }
  });
}

function networkIn(file: string): BlueskyNetwork {
  const description: NetworkDescription = JSON.parse(readFileSync(file, "utf8"));
  const { pds, adminPassword } = description;
  const admin = `Basic ${btoa(`admin:${adminPassword}`)}`;
  const login = async ({ handle, password }: BlueskyAccount) => {
    const session = await procedure(pds, "com.atproto.server.createSession", {
      identifier: handle,
      password,
    });
    return `Bearer ${session["accessJwt"]}`;
  };
  const appPassword = async (authorization: string, name: string, privileged = false) => {
    const method = "com.atproto.server.createAppPassword";
    const made = await procedure(pds, method, { name, privileged }, authorization);
    return String(made["password"]);
  };
  const setTakedown = async ({ did }: BlueskyAccount, applied: boolean) => {
    const subject = { $type: "com.atproto.admin.defs#repoRef", did };
    const method = "com.atproto.admin.updateSubjectStatus";
    await procedure(pds, method, { subject, takedown: { applied } }, admin);
  };

  return {
    ...description,
    async createAccount() {
      const name = `p${randomBytes(6).toString("hex")}`;
      const handle = `${name}.test`;
      const email = `${name}@example.test`;
      const password = randomBytes(12).toString("hex");
      const method = "com.atproto.server.createAccount";
      const made = await procedure(pds, method, { handle, email, password });
      const authorization = `Bearer ${made["accessJwt"]}`;
      return {
        handle,
        did: String(made["did"]),
        email,
        password,
        appPassword: await appPassword(authorization, APP_PASSWORD_NAME),
        privilegedAppPassword: await appPassword(authorization, `${APP_PASSWORD_NAME} dm`, true),
      };
    },
    async createAppPassword(account, name) {
      return await appPassword(await login(account), name);
    },
    async revokeAppPassword(account, name) {
      const method = "com.atproto.server.revokeAppPassword";
      await procedure(pds, method, { name }, await login(account));
    },
    takeDown: (account) => setTakedown(account, true),
    restore: (account) => setTakedown(account, false),
    async post(account, text) {
      const authorization = await login(account);
      const collection = "app.bsky.feed.post";
      const record = { $type: collection, text, createdAt: new Date().toISOString() };
      const method = "com.atproto.repo.createRecord";
      const input = { repo: account.did, collection, record };
      const { uri, cid } = await procedure(pds, method, input, authorization);
      await indexed(pds, String(uri), authorization);
      return { uri: String(uri), cid: String(cid) };
    },
  };
}

/** The AppView reads from the PDS with a delay, and sends no notification. */
async function indexed(pds: string, uri: string, authorization: string): Promise<void> {
  const url = `${pds}/xrpc/app.bsky.feed.getPosts?uris=${encodeURIComponent(uri)}`;
  for (;;) {
    const { posts } = await answer(await fetch(url, { headers: { authorization } }));
    if (Array.isArray(posts) && posts.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function procedure(
  service: string,
  method: string,
  input: object,
  authorization?: string,
): Promise<Record<string, unknown>> {
  return await answer(
    await fetch(`${service}/xrpc/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(authorization && { authorization }) },
      body: JSON.stringify(input),
    }),
  );
}

async function answer(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return text === "" ? {} : JSON.parse(text);
}
