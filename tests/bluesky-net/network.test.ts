import assert from "node:assert/strict";
import { until } from "effection";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { APP_PASSWORD_NAME, type BlueskyNetwork, useBlueskyNetwork } from "./network.ts";

const onNetwork = it.unless(absence("bluesky"));

interface Session {
  status: number;
  error?: string;
  accessJwt: string;
  refreshJwt: string;
}

async function login(pds: string, identifier: string, password: string): Promise<Session> {
  const response = await fetch(`${pds}/xrpc/com.atproto.server.createSession`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ identifier, password }),
  });
  return { ...await response.json(), status: response.status };
}

async function search(network: BlueskyNetwork, q: string, token: string): Promise<string[]> {
  const url = `${network.pds}/xrpc/app.bsky.feed.searchPosts?q=${encodeURIComponent(q)}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const { posts } = await response.json();
  return posts.map(({ uri }: { uri: string }) => uri);
}

describe("useBlueskyNetwork()", () => {
  onNetwork("has seeded accounts that log in, and posts that are found", function* () {
    const network = yield* useBlueskyNetwork();
    const { alice } = network.accounts;
    const session = yield* until(login(network.pds, alice.handle, alice.appPassword));
    assert.equal(session.status, 200);
    const found = yield* until(search(network, "xylophone-4711", session.accessJwt));
    const seeded = network.posts.filter(({ text }) => text.includes("xylophone-4711"));
    assert.deepEqual(found, seeded.map(({ uri }) => uri));
    assert.equal(found.length, 1);
  }, { within: 120_000 });

  onNetwork("makes an account that posts, and revokes its app password", function* () {
    const network = yield* useBlueskyNetwork();
    const account = yield* until(network.createAccount());
    const session = yield* until(login(network.pds, account.handle, account.appPassword));
    const { uri } = yield* until(network.post(account, `post of ${account.handle}`));
    const found = yield* until(search(network, account.handle, session.accessJwt));
    assert.deepEqual(found, [uri]);
    const more = yield* until(network.createAppPassword(account, "another"));
    yield* until(network.revokeAppPassword(account, APP_PASSWORD_NAME));
    const statuses = [account.appPassword, more].map((password) =>
      login(network.pds, account.handle, password).then(({ status }) => status)
    );
    assert.deepEqual(yield* until(Promise.all(statuses)), [401, 200]);
    const refresh = yield* until(
      fetch(`${network.pds}/xrpc/com.atproto.server.refreshSession`, {
        method: "POST",
        headers: { authorization: `Bearer ${session.refreshJwt}` },
      }),
    );
    assert.equal(refresh.status, 400);
    assert.equal((yield* until(refresh.json())).error, "ExpiredToken");
  }, { within: 120_000 });

  onNetwork("takes an account down and restores it", function* () {
    const network = yield* useBlueskyNetwork();
    const { takeDown, restore, createAccount, pds } = network;
    const account = yield* until(createAccount());
    yield* until(takeDown(account));
    const refused = yield* until(login(pds, account.handle, account.password));
    assert.deepEqual([refused.status, refused.error], [401, "AccountTakedown"]);
    yield* until(restore(account));
    assert.equal((yield* until(login(pds, account.handle, account.password))).status, 200);
  }, { within: 120_000 });

  onNetwork("limits the rate where it is said to", function* () {
    const { limited: { pds, account } } = yield* useBlueskyNetwork();
    // An account that does not exist: the limit that is used up belongs to nobody else.
    const nobody = `nobody-on-${currentRuntime()}.test`;
    let status = 0;
    for (let tries = 0; status !== 429 && tries < 40; tries++) {
      ({ status } = yield* until(login(pds, nobody, account.password)));
    }
    assert.equal(status, 429);
    assert.equal((yield* until(login(pds, account.handle, account.appPassword))).status, 200);
  }, { within: 120_000 });
});
