import assert from "node:assert/strict";
import { until } from "effection";
import { chmodSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../../src/cli/doctor/probe.ts";
import { Credentials } from "../../../src/client/oauth/credentials.ts";
import { FileVault } from "../../../src/vault/file-vault.ts";
import { signInEnvironment, useProtectedServer } from "../../client/oauth/protected-server.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram } from "../../support/program.ts";

type Env = ReturnType<typeof signInEnvironment>;

/** What `parley doctor` says about sign-ins, and about everything. */
function* examined(env: Env, ...args: string[]) {
  const { stdout, stderr } = yield* runProgram(["doctor", "--json", ...args], { env });
  const findings: Finding[] = JSON.parse(stdout || `{"findings":[]}`).findings;
  return { own: findings.find(({ check }) => check === "sign-ins"), findings, stdout, stderr };
}

describe("parley doctor and stored sign-ins", () => {
  it(
    "says whether somebody is signed in, and checks the server with the stored token",
    function* () {
      const server = yield* useProtectedServer();
      const env = signInEnvironment(yield* useFolder());
      assert.match((yield* examined(env)).own!.message, /not signed in to any server/);
      const before = yield* examined(env, server.url);
      assert.equal(before.own, undefined);
      const streams = (findings: readonly Finding[]) =>
        findings.find(({ check }) => check === "streams")!.status;
      assert.equal(streams(before.findings), "skipped");

      const called = yield* runProgram(["call", "hello", "--url", server.url], { env });
      assert.equal(called.code, 0, called.stderr);
      const after = yield* examined(env, server.url);
      assert.equal(after.own!.status, "ok", after.stdout);
      assert.equal(streams(after.findings), "ok", after.stdout);
      assert.match((yield* examined(env)).own!.message, /signed in to 1 server/);
      for (const token of server.authorizations.flatMap((one) => one?.split(" ")[1] ?? [])) {
        assert.ok(!after.stdout.includes(token));
      }
    },
    { within: 60_000 },
  );

  it("finds a sign-in that has expired", function* () {
    const settings = yield* useFolder();
    const env = signInEnvironment(settings);
    const url = "http://127.0.0.1:9/mcp";
    const credentials = new Credentials(new FileVault({ folder: join(settings, "parley/vault") }));
    const tokens = { clientId: "c", access: "s3cret", expiresAt: 1 };
    yield* until(credentials.keepTokens("http://127.0.0.1:9", url, tokens));
    for (const args of [[], [url]]) {
      const { own, stdout } = yield* examined(env, ...args);
      assert.equal(own!.status, "warning", stdout);
      assert.ok(own!.remedy);
      assert.ok(!stdout.includes("s3cret"));
    }
    // A refresh token makes up for that.
    yield* until(credentials.keepTokens("http://127.0.0.1:9", url, { ...tokens, refresh: "r" }));
    assert.equal((yield* examined(env)).own!.status, "ok");
  });

  it("finds a vault that cannot be opened, and changes nothing in it", function* () {
    const settings = yield* useFolder();
    const env = signInEnvironment(settings);
    const folder = join(settings, "parley/vault");
    const credentials = new Credentials(new FileVault({ folder }));
    const tokens = { clientId: "c", access: "a" };
    yield* until(credentials.keepTokens("https://a.example", "https://b.example/mcp", tokens));
    rmSync(join(folder, "vault.key"));
    writeFileSync(join(folder, "vault.key"), "x".repeat(43));
    chmodSync(join(folder, "vault.key"), 0o600);
    const names = readdirSync(folder).sort();
    const { own, stdout } = yield* examined(env);
    assert.equal(own!.status, "problem", stdout);
    assert.ok(own!.remedy);
    assert.deepEqual(readdirSync(folder).sort(), names);
  });
});
