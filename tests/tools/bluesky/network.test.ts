/** Whole scenarios on a real network, in a real browser, over each transport. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import type { Post } from "../../../tools/bluesky/schemas.ts";
import { APP_PASSWORD_NAME } from "../../bluesky-net/network.ts";
import { absence } from "../../harness/system.ts";
import { describe, it } from "../../suite.ts";
import { useBrowser } from "../../support/browser.ts";
import type { Assistant, Result } from "./assistant.ts";
import { WAYS } from "./servers.ts";
import { answerAtService, expireAccess, revokeSilently, useWorld, visit } from "./world.ts";

const onNetwork = it.unless(absence("bluesky"));
const inBrowser = it.unless(absence("bluesky", "browser"));
const LONG = { within: 180_000 };

function ok(result: Result): Result {
  assert.equal(result.isError, false, result.text);
  return result;
}

/**
 * Lets the person do something in the browser when the client is asked to open a page. The tool
 * may be done before the browser is; callers wait for both.
 */
function browsing(
  assistant: Assistant,
  visit: (url: string) => Promise<void>,
  answers: "at once" | "afterwards" = "afterwards",
): (args: object) => Operation<Result> {
  return function* (args) {
    let visited = Promise.resolve();
    assistant.answer = async ({ url }) => {
      visited = visit(url!);
      if (answers === "afterwards") await visited;
      return { action: "accept" };
    };
    const result = yield* until(assistant.call("login", args));
    yield* until(visited);
    return result;
  };
}

for (const way of WAYS) {
  describe(`Bluesky over ${way.name}`, () => {
    onNetwork("with forms: app passwords, accounts, search, refresh, revocation", function* () {
      const world = yield* useWorld(way, "form");
      const { assistant, person, network, accounts } = world;
      const { alice } = network.accounts;
      const call = function* (name: string, args: object = {}) {
        return yield* until(assistant.call(name, args));
      };

      // It asks for the method first, then for the password, which is marked as sensitive.
      assistant.answer = ({ requestedSchema }) =>
        "way" in requestedSchema!.properties
          ? { action: "accept", content: { way: "app-password" } }
          : {
            action: "accept",
            content: { handle: `@${person.handle.toUpperCase()}`, password: person.appPassword },
          };
      const first = ok(yield* call("login"));
      assert.equal(first.data.signedIn, person.did);
      assert.match(first.text, new RegExp(`You are signed in to Bluesky as @${person.handle}\\.`));
      assert.deepEqual(
        assistant.asked.map(({ requestedSchema }) => Object.keys(requestedSchema!.properties)),
        [["way"], ["handle", "password"]],
      );

      // A second account, with everything given as parameters.
      ok(yield* call("login", { handle: alice.handle, password: alice.appPassword }));
      const listed = ok(yield* call("login", { command: "list" }));
      assert.deepEqual(
        listed.data.accounts.map(({ handle, method, signedIn, mainPassword }: {
          [key: string]: unknown;
        }) => [handle, method, signedIn, mainPassword]),
        [person.handle, alice.handle].map((handle) => [handle, "app-password", true, false]),
      );
      assert.equal(listed.data.default, person.did);
      const chosen = ok(yield* call("login", { command: "default", handle: alice.handle }));
      assert.equal(chosen.data.default, alice.did);

      const own = ok(yield* call("profile"));
      assert.equal(own.data.did, alice.did);
      const other = ok(yield* call("profile", { account: "@bob.test" }));
      assert.equal(other.data.handle, "bob.test");
      assert.ok(other.data.posts > 5);

      // Page by page, everything once.
      const found: Post[] = [];
      let cursor: string | undefined;
      do {
        const query = { query: "from:alice.test", limit: 5, ...(cursor && { cursor }) };
        const page = ok(yield* call("search", query));
        assert.ok(page.data.posts.length <= 5);
        assert.equal(page.data.account, alice.handle);
        found.push(...page.data.posts);
        cursor = page.data.cursor;
      } while (cursor);
      const written = network.posts.filter(({ by }) => by === alice.handle).map(({ uri }) => uri);
      assert.deepEqual(found.map(({ uri }) => uri), written.toReversed());

      // An expired access token is renewed, and the new one is stored.
      yield* until(expireAccess(world, person.did));
      const before = yield* until(accounts.credentials(person.did));
      ok(yield* call("search", { query: "xylophone-4711", account: person.handle }));
      const after = yield* until(accounts.credentials(person.did));
      assert.notDeepEqual(after, before);

      // A revoked app password leads to login, and nothing else is lost.
      yield* until(network.revokeAppPassword(person, APP_PASSWORD_NAME));
      yield* until(expireAccess(world, person.did));
      const revoked = yield* call("search", { query: "x", account: person.handle });
      assert.equal(revoked.isError, true);
      assert.match(
        revoked.text,
        /is no longer valid: it has expired or was revoked\. Sign in again/,
      );
      const left = ok(yield* call("login", { command: "list" }));
      assert.deepEqual(
        left.data.accounts.map(({ signedIn }: { signedIn: boolean }) => signedIn),
        [false, true],
      );
      assert.match(left.text, /sign in again/);

      // Signed out, here and at the service.
      const { secret } = (yield* until(accounts.credentials(alice.did)))!;
      for (const handle of [person.handle, alice.handle]) {
        ok(yield* call("login", { command: "delete", handle }));
      }
      const nobody = ok(yield* call("login", { command: "list" })).data;
      assert.deepEqual([nobody.accounts, nobody.default], [[], undefined]);
      const { refreshJwt } = (secret as { session: { refreshJwt: string } }).session;
      const refused = yield* until(
        fetch(`${network.pds}/xrpc/com.atproto.server.refreshSession`, {
          method: "POST",
          headers: { authorization: `Bearer ${refreshJwt}` },
        }),
      );
      assert.equal(refused.status, 400, yield* until(refused.text()));
    }, LONG);

    inBrowser("with a browser: OAuth, an app password on the page, and a refusal", function* () {
      const world = yield* useWorld(way, "url");
      const { assistant, person, network, accounts } = world;
      const browser = yield* useBrowser();
      const page = yield* until(browser.newPage());

      // OAuth, to its end.
      const withOAuth = browsing(assistant, async (url) => {
        await visit(page, url);
        const choice = page.getByRole("link", { name: /recommended/ });
        if (!url.endsWith("/oauth")) await choice.click();
        await answerAtService(page, person, "yes");
        await page.getByText(`You are signed in as @${person.handle}`).waitFor();
      });
      const signedIn = ok(yield* withOAuth({ handle: person.handle }));
      assert.equal(signedIn.data.signedIn, person.did);
      assert.equal(signedIn.data.accounts[0].method, "oauth");
      assert.equal(ok(yield* until(assistant.call("profile"))).data.handle, person.handle);

      // Expired tokens are renewed, and stored.
      yield* until(expireAccess(world, person.did));
      const before = yield* until(accounts.credentials(person.did));
      ok(yield* until(assistant.call("search", { query: "xylophone-4711" })));
      assert.notDeepEqual(yield* until(accounts.credentials(person.did)), before);

      // A revoked sign-in leads to login.
      yield* until(revokeSilently(world, person.did));
      const revoked = yield* until(assistant.call("profile"));
      assert.equal(revoked.isError, true);
      assert.match(revoked.text, /no longer valid: it has expired or was revoked\. Sign in again/);

      // The page: first a wrong password, which it explains, then the right one. Here the client
      // reports at once that it has opened the page, and the tool waits.
      const withPage = browsing(assistant, async (url) => {
        await visit(page, url);
        for (const password of ["wrong-wrong", person.appPassword]) {
          await page.getByLabel("Handle").fill(person.handle);
          await page.getByLabel("App password").fill(password);
          await page.getByRole("button", { name: "Sign in" }).click();
          if (password === person.appPassword) break;
          await page.getByRole("alert").getByText(/password is wrong/).waitFor();
          assert.equal(await page.getByLabel("App password").inputValue(), "");
        }
        await page.getByText(`You are signed in as @${person.handle}`).waitFor();
      }, "at once");
      const typedIn = ok(yield* withPage({ method: "page" }));
      assert.equal(typedIn.data.accounts[0].method, "app-password");
      assert.equal(typedIn.data.accounts[0].signedIn, true);
      if (way.era === "legacy") {
        assert.deepEqual(assistant.completed, [assistant.asked.at(-1)!.elicitationId]);
      }

      // A person who refuses at the service.
      const refusing = browsing(assistant, async (url) => {
        await visit(page, url);
        await answerAtService(page, network.accounts.carol, "no");
        await page.getByText("You are not signed in").waitFor();
      });
      const denied = yield* refusing({ method: "oauth" });
      assert.equal(denied.isError, true);
      assert.match(denied.text, /you declined on the page of Bluesky, and nothing was stored/);

      // Deletes an account that was added with OAuth.
      ok(yield* withOAuth({ method: "oauth", handle: person.handle }));
      const deleted = ok(
        yield* until(assistant.call("login", { command: "delete", handle: person.handle })),
      );
      assert.deepEqual([deleted.data.accounts, deleted.data.default], [[], undefined]);
    }, LONG);
  });
}
