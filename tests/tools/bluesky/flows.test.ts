/** Every question, with every answer, for every kind of client, in both eras. */
import assert from "node:assert/strict";
import { until } from "effection";
import { describe, it } from "../../suite.ts";
import { noticed } from "../../support/turn.ts";
import { PERSON } from "./fake-service.ts";
import { script, typeInto, useFakeWorld } from "./fake-world.ts";

const { handle, did, appPassword, mainPassword } = PERSON;
const refusals = ["decline", "cancel"] as const;
const password = { action: "accept", content: { password: appPassword } } as const;
const chooseForm = { action: "accept", content: { way: "app-password" } } as const;
const OAUTH =
  /Signing in with OAuth is the better way.*To start it, say "sign in to Bluesky with OAuth"/;

for (const era of ["legacy", "modern"] as const) {
  describe(`login, for a client that opens pages (${era})`, () => {
    it("signs in with what is typed into the page", function* () {
      const { assistant, call, accounts, service } = yield* useFakeWorld({ era });
      let visits = Promise.resolve<string[]>([]);
      assistant.answer = ({ url, mode }) => {
        assert.equal(mode, "url");
        visits = (async () => [
          await (await fetch(url!)).text(),
          await (await typeInto(url!, { handle, password: "wrong" })).text(),
          await (await typeInto(url!, { handle, password: appPassword })).text(),
        ])();
        return { action: "accept" };
      };
      const { data, isError, text } = yield* call("login");
      const seen = yield* until(visits);
      assert.equal(isError, false, text);
      assert.equal(data.signedIn, did);
      assert.match(seen[0]!, /Sign in at fake\.example \(recommended\)/);
      assert.match(seen[1]!, /the handle or the password is wrong/);
      assert.match(seen[2]!, /You are signed in as @alice\.test/);
      assert.equal((yield* until(accounts.list())).length, 1);
      assert.equal(service.of("createSession").length, 2);
    });

    for (const action of refusals) {
      it(`explains how to start OAuth after ${action}`, function* () {
        const { assistant, call, vault } = yield* useFakeWorld({ era });
        assistant.answer = script({ action });
        const { isError, text } = yield* call("login");
        assert.equal(isError, true);
        assert.match(text, OAUTH);
        assert.equal(vault.documents.size, 0);
        const late = yield* until(fetch(assistant.asked[0]!.url!));
        assert.equal(late.status, 404, "the page is gone");
        yield* until(late.body!.cancel());
      });
    }

    it("removes the page when the call is cancelled", function* () {
      const { assistant, vault, streams } = yield* useFakeWorld({ era });
      const abort = new AbortController();
      let answered = false;
      assistant.answer = script(() => {
        answered = true;
        return { action: "accept" };
      });
      const calling = assistant.call("login", {}, abort.signal).then(
        () => "done",
        () => "cancelled",
      );
      // A modern client can only cancel a request that the server has. It has the answer once the
      // response to it is a stream.
      yield* until(noticed(() => answered && streams() > 0));
      abort.abort();
      assert.equal(yield* until(calling), "cancelled");
      const { url } = assistant.asked[0]!;
      let status = 0;
      // The cancellation is on its way.
      while (status !== 404) {
        const page = yield* until(fetch(url!));
        status = page.status;
        yield* until(page.body!.cancel());
      }
      assert.equal(vault.documents.size, 0);
    });
  });

  describe(`login, for a client with forms only (${era})`, () => {
    /** On a server that allows passwords in forms. */
    const allowed = { era, can: "form", formPasswords: true } as const;

    it("first asks for the method, with OAuth as the first choice", function* () {
      const { assistant, call } = yield* useFakeWorld({ era, can: "form" });
      assistant.answer = script({ action: "accept", content: { way: "oauth" } });
      const { isError, text, data } = yield* call("login");
      assert.equal(isError, false);
      const { way } = assistant.asked[0]!.requestedSchema!.properties as {
        way: { oneOf?: { const: string }[]; enum?: string[] };
      };
      assert.deepEqual(way.oneOf?.map((one) => one.const) ?? way.enum, ["oauth", "page"]);
      assert.equal(assistant.asked.length, 1, "no password is asked for");
      assert.ok(text.includes(data.link) && data.link.endsWith("/oauth"), text);
      assert.deepEqual(data.accounts, []);
    });

    for (const action of refusals) {
      for (
        const [which, args, before] of [
          ["the way", {}, []],
          ["handle and password", {}, [chooseForm]],
          ["the password", { handle }, [chooseForm]],
          ["the password, without a choice", { handle, method: "app-password" }, []],
          ["the handle of a password", { password: appPassword }, []],
        ] as const
      ) {
        it(`explains how to start OAuth after ${action} at ${which}`, function* () {
          const { assistant, call, vault, service } = yield* useFakeWorld(allowed);
          assistant.answer = script(...before, { action });
          const { isError, text } = yield* call("login", args);
          assert.equal(isError, true);
          assert.match(text, OAUTH);
          assert.equal(vault.documents.size, 0);
          assert.deepEqual(service.asked, []);
        });
      }
    }

    it("offers a password field if the server allows it, after the page", function* () {
      const { assistant, call } = yield* useFakeWorld(allowed);
      assistant.answer = script({ action: "cancel" });
      yield* call("login");
      const { way } = assistant.asked[0]!.requestedSchema!.properties as {
        way: { oneOf?: { const: string }[]; enum?: string[] };
      };
      assert.deepEqual(
        way.oneOf?.map((one) => one.const) ?? way.enum,
        ["oauth", "page", "app-password"],
      );
    });

    it("signs in with a password for the handle that was given", function* () {
      const { assistant, call } = yield* useFakeWorld(allowed);
      assistant.answer = script(chooseForm, password);
      const { data, text } = yield* call("login", { handle: `@${handle}` });
      assert.equal(data?.signedIn, did, text);
      assert.match(assistant.asked[1]!.message, /Enter an app password for @alice\.test/);
    });

    it("asks for the handle of a password that was given alone", function* () {
      const { assistant, call } = yield* useFakeWorld({ era, can: "form" });
      assistant.answer = script({ action: "accept", content: { handle } });
      assert.equal((yield* call("login", { password: appPassword })).data.signedIn, did);
    });

    it("offers the page instead of a password field", function* () {
      const { assistant, call, accounts } = yield* useFakeWorld({ era, can: "form" });
      assistant.answer = script({ action: "accept", content: { way: "page" } });
      const { data, isError } = yield* call("login");
      assert.equal(isError, false);
      assert.equal(assistant.asked.length, 1);
      const done = yield* until(typeInto(data.link, { handle, password: appPassword }));
      assert.match(yield* until(done.text()), /You are signed in as @alice\.test/);
      assert.equal((yield* until(accounts.list())).length, 1);
      const asked = yield* call("login", { method: "app-password", handle });
      assert.equal(asked.isError, false);
      assert.equal(assistant.asked.length, 1, "no password is asked for");
      assert.ok(asked.text.includes(asked.data.link) && !asked.data.link.endsWith("/oauth"));
      assert.match(asked.text, OAUTH);
    });
  });

  describe(`login, for a client that cannot ask (${era})`, () => {
    it("returns the links, which stay valid, and the other ways", function* () {
      const { assistant, call, accounts } = yield* useFakeWorld({ era, can: "nothing" });
      const { isError, text } = yield* call("login");
      assert.equal(isError, true);
      assert.deepEqual(assistant.asked, []);
      assert.match(text, /Test Assistant cannot show questions from tools\. /);
      const links = text.match(/http:\/\/127\.0\.0\.1:\d+\/pages\/[^\s]+/g)!;
      assert.equal(links.length, 2);
      assert.ok(links[0]!.endsWith("/oauth"));
      assert.match(text, /call login with "handle" and "password"/);
      const done = yield* until(typeInto(links[1]!, { handle, password: appPassword }));
      assert.equal(done.status, 200, yield* until(done.text()));
      assert.equal((yield* until(accounts.list()))[0]?.handle, handle);
      const over = yield* until(fetch(links[1]!));
      assert.equal(over.status, 404);
      yield* until(over.body!.cancel());
    });

    for (const method of ["oauth", "page", "app-password"] as const) {
      it(`returns the same for method "${method}"`, function* () {
        const { call } = yield* useFakeWorld({ era, can: "nothing" });
        const { isError, text } = yield* call("login", { method, handle });
        assert.equal(isError, true);
        assert.match(text, /Test Assistant cannot/);
        assert.match(text, /https:\/\/bsky\.app\/settings\/app-passwords/);
        assert.match(text, method === "page" ? /a page of this server/ : /\/oauth/);
      });
    }

    it("accepts an app password as a parameter", function* () {
      const { call } = yield* useFakeWorld({ era, can: "nothing" });
      const { data, text } = yield* call("login", { handle, password: appPassword });
      assert.equal(data.signedIn, did);
      assert.equal(data.warning, undefined);
      assert.doesNotMatch(text, /[Ww]arning/);
    });

    it("warns about a main password, although it works", function* () {
      const { call } = yield* useFakeWorld({ era, can: "nothing" });
      const { data, text } = yield* call("login", { handle, password: mainPassword });
      assert.equal(data.signedIn, did);
      assert.equal(data.accounts[0].mainPassword, true);
      assert.match(data.warning, /that was the main password of @alice\.test/);
      assert.ok(text.includes(data.warning));
      assert.match((yield* call("login", { command: "list" })).text, /main password/);
    });
  });
}

describe("login", () => {
  it("says what to do next if nobody is signed in", function* () {
    const { call } = yield* useFakeWorld({ can: "nothing" });
    const { isError, text, data } = yield* call("login", { command: "list" });
    assert.equal(isError, false);
    assert.match(
      text,
      /^Nobody is signed in to Bluesky\. To sign in, call login without a command\./,
    );
    assert.match(text, OAUTH);
    assert.deepEqual(data, { message: text, accounts: [] });
  });

  it("refuses contradictory and missing parameters", function* () {
    const { call, service } = yield* useFakeWorld({ can: "nothing" });
    const wrong: [object, RegExp][] = [
      [
        { method: "oauth", handle, password: "x" },
        /method "oauth" and a password: this method does not use/,
      ],
      [{ password: "x" }, /the handle is missing, and .*; pass the handle with "handle"/],
      [{ handle, password: "" }, /the password is empty\. Never use the main password/],
      [
        { command: "default" },
        /Cannot choose the default account: the handle is missing; pass it with "handle"/,
      ],
      [{ command: "delete" }, /Cannot delete an account: the handle is missing/],
      [{ command: "delete", handle: "bob.test" }, /nobody is signed in/],
      [{ command: "logout" }, /command/],
      [{ port: 0 }, /port/],
      [{ service: "http://example.com" }, /it is not encrypted; use its https address/],
    ];
    for (const [args, pattern] of wrong) {
      const { isError, text } = yield* call("login", args);
      assert.equal(isError, true);
      assert.match(text, pattern);
    }
    assert.deepEqual(service.asked, []);
  });

  it("keeps several accounts, one of them the default", function* () {
    const { call, accounts, signIn } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const other = { did: "did:plc:bbb", handle: "bob.test", service: "https://fake.example" };
    const method = "app-password" as const;
    yield* until(accounts.keep(other.did, { method, service: other.service, secret: {} }));
    yield* until(accounts.add({ ...other, method, signedIn: false, mainPassword: false }));
    assert.equal((yield* call("login", { command: "list" })).data.default, did);
    const chosen = yield* call("login", { command: "default", handle: "@BOB.test" });
    assert.equal(chosen.data.default, other.did);
    const deleted = yield* call("login", { command: "delete", handle: other.did });
    assert.equal(deleted.data.default, did, "the one that is left");
    assert.match(deleted.text, /@bob\.test is signed out, and its data is deleted here/);
    assert.equal(yield* until(accounts.credentials(other.did)), undefined);
  });

  it("forgets an account even if the service cannot be reached", function* () {
    const { call, service, signIn, vault } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    service.instead.set("deleteSession", () => {
      throw new TypeError("no network");
    });
    const { data, text, isError } = yield* call("login", { command: "delete", handle });
    assert.equal(isError, false);
    assert.match(text, /fake\.example could not be told that @alice\.test has signed out/);
    assert.deepEqual(data.accounts, []);
    assert.equal(vault.documents.size, 0);
  });
});
