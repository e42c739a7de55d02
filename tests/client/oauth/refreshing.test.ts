/** Processes that refresh the same tokens at once. Many issuers accept a refresh token only once. */
import assert from "node:assert/strict";
import { all, spawn, withResolvers } from "effection";
import { FileVault } from "../../../src/vault/file-vault.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram } from "../../support/program.ts";
import { useFakeSite } from "./fake-site.ts";
import { signInEnvironment, useProtectedServer } from "./protected-server.ts";

describe("OAuth.retry() in several processes", () => {
  it("sends a refresh token only once", function* () {
    const site = yield* useFakeSite();
    const folder = yield* useFolder();
    const vault = () => Promise.resolve(new FileVault({ folder }));
    yield* site.oauth({ vault }).retry(site.refusal(), undefined);
    site.clock.advance(3_600_000);

    const used = new Set<string>();
    const answer = site.answers["/as/token"]!;
    site.answers["/as/token"] = (form) => {
      const { refresh_token: token } = form;
      if (used.has(token!)) return { status: 400, body: { error: "invalid_grant" } };
      used.add(token!);
      return answer(form);
    };
    const others = Array.from({ length: 4 }, () => site.oauth({ vault, browse: undefined }));
    const retried = yield* all(others.map((one) => one.retry(site.refusal(), undefined)));
    assert.deepEqual(retried, [true, true, true, true]);
    assert.deepEqual(new Set(others.map(({ header }) => header)), new Set(["Bearer access-2"]));
    assert.equal(site.grants().length, 2);
  });

  it("lets the next one refresh if the first is stopped", function* () {
    const site = yield* useFakeSite();
    yield* site.oauth().retry(site.refusal(), undefined);
    site.clock.advance(3_600_000);
    const answer = site.answers["/as/token"]!;
    const asked = withResolvers<void>();
    site.answers["/as/token"] = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const first = yield* spawn(() => site.oauth().retry(site.refusal(), undefined));
    yield* asked.operation;
    site.answers["/as/token"] = answer;
    const second = site.oauth({ browse: undefined });
    const waiting = yield* spawn(() => second.retry(site.refusal(), undefined));
    yield* first.halt();
    assert.equal(yield* waiting, true);
  });
});

describe("parley call --url in several processes", () => {
  it(
    "signs in once, and survives an issuer that ends a sign-in if a token is used twice",
    function* () {
      const server = yield* useProtectedServer({ tokenTtl: 9 });
      const env = signInEnvironment(yield* useFolder());
      const hello = () => runProgram(["call", "hello", "--url", server.url], { env });
      assert.equal((yield* hello()).code, 0);
      const asked = server.issuer.requests.filter((one) => one === "GET /auth").length;
      const noBrowser = { ...env, BROWSER: undefined };
      const again = () => runProgram(["call", "hello", "--url", server.url], { env: noBrowser });
      for (const { code, stdout, stderr } of yield* all([again(), again(), again()])) {
        assert.deepEqual([code, stdout], [0, "Hello alice\n"], stderr);
      }
      assert.equal(server.issuer.requests.filter((one) => one === "GET /auth").length, asked);
    },
    { within: 120_000 },
  );
});
