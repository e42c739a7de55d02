import assert from "node:assert/strict";
import { until } from "effection";
import { writeFileSync } from "node:fs";
import { createManualClock, createParley, type Fault, type Parley } from "parley-mcp";
import { newToken, TokenFile } from "../../src/auth/token-file.ts";
import { useFolder } from "../support/folder.ts";
import { TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { whoami } from "./issuer.ts";

async function call(parley: Parley, token: string) {
  const client = new TestClient(parley.fetch, { headers: { authorization: `Bearer ${token}` } });
  const exchange = await client.start("tools/call", { name: "whoami", arguments: {} });
  return exchange.status === 200 ? await exchange.text() : exchange.status;
}

function* useFile(...lines: readonly string[]) {
  const path = `${yield* useFolder()}/tokens`;
  writeFileSync(path, lines.join("\n"));
  return path;
}

describe("a token file", () => {
  it("names callers by their tokens, and holds only hashes", function* () {
    const { token, line } = newToken("nightly", ["flights:read"]);
    assert.ok(!line.includes(token.slice(-20)));
    const tokenFile = yield* useFile("# the build", line, "", newToken("other", []).line);
    const parley = createParley({ serve: [whoami], auth: { tokenFile } });
    assert.equal(yield* until(call(parley, token)), "token|nightly");
    for (const wrong of [token.slice(0, -1), `${token}x`, token.toUpperCase(), "x", line]) {
      assert.equal(yield* until(call(parley, wrong)), 401);
    }
    const refusal = yield* until(
      parley.fetch(new Request("http://127.0.0.1/mcp", { method: "POST" })),
    );
    assert.equal(refusal.headers.get("www-authenticate"), "Bearer");
    yield* until(parley.close());
  });

  it("is read again after it has changed", function* () {
    const clock = createManualClock();
    const faults: Fault[] = [];
    const [one, two] = [newToken("one", []), newToken("two", [])];
    const tokenFile = yield* useFile(one.line);
    const parley = createParley({
      serve: [whoami],
      auth: { tokenFile },
      clock,
      report: (fault) => void faults.push(fault),
    });
    assert.equal(yield* until(call(parley, one.token)), "token|one");
    writeFileSync(tokenFile, `${two.line}\n`);
    clock.advance(1_000);
    assert.equal(yield* until(call(parley, one.token)), 401);
    assert.equal(yield* until(call(parley, two.token)), "token|two");
    writeFileSync(tokenFile, "a mistake");
    clock.advance(1_000);
    assert.equal(yield* until(call(parley, two.token)), "token|two");
    clock.advance(1_000);
    yield* until(call(parley, two.token));
    assert.equal(faults.length, 1);
    yield* until(parley.close());
  });

  it("that cannot be used stops the server from starting", function* () {
    const folder = yield* useFolder();
    assert.throws(
      () => createParley({ auth: { tokenFile: `${folder}/missing` } }),
      /Cannot read the token file/,
    );
    const tokenFile = yield* useFile("alice secret");
    assert.throws(() => createParley({ auth: { tokenFile } }), /line 1 is no name with a hash/);
    assert.throws(
      () => new TokenFile(tokenFile, createManualClock(), () => {}),
      (error: Error) => !error.message.includes("secret"),
    );
  });

  it("takes no names or scopes that would break its lines", () => {
    for (const [name, scopes] of [["a b", []], ["", []], ["a", ["b\nc sha256:"]]] as const) {
      assert.throws(() => newToken(name, scopes), TypeError);
    }
  });
});
