/** Signing in with the program, from nothing but the server's refusal. */
import assert from "node:assert/strict";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram } from "../../support/program.ts";
import { signInEnvironment, useProtectedServer } from "./protected-server.ts";

const within = { within: 60_000 };

describe("parley call --url", () => {
  it("signs in with a browser, and does not ask again the next time", function* () {
    const { url, issuer } = yield* useProtectedServer();
    const env = signInEnvironment(yield* useFolder());
    const call = ["call", "hello", "--url", url];
    const first = yield* runProgram(call, { env });
    assert.deepEqual([first.code, first.stdout], [0, "Hello alice\n"], first.stderr);
    assert.match(first.stderr, /asks you to sign in at 127\.0\.0\.1:\d+/);
    const asked = issuer.requests.filter((one) => one === "GET /auth").length;
    const second = yield* runProgram(call, { env });
    assert.deepEqual([second.code, second.stdout, second.stderr], [0, "Hello alice\n", ""]);
    assert.equal(issuer.requests.filter((one) => one === "GET /auth").length, asked);
  }, within);
});
