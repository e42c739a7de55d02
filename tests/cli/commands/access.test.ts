import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { writeFileSync } from "node:fs";
import { request, type RequestOptions } from "node:http";
import { networkInterfaces } from "node:os";
import { type AccessFlags, authFrom, isLocal, reachOf } from "../../../src/cli/commands/access.ts";
import { Problem } from "../../../src/cli/problem.ts";
import { useFolder } from "../../support/folder.ts";
import { TestClient } from "../../support/modern/client.ts";
import { type Program, runProgram, useProgram } from "../../support/program.ts";
import { describe, it } from "../../suite.ts";

const LOCAL = { host: "127.0.0.1" };
const OPEN = { host: "0.0.0.0" };
const ISSUER = "https://login.example.com";

describe("authFrom()", () => {
  it("lets everybody on this machine call by default, and nobody else", () => {
    assert.equal(authFrom(LOCAL), undefined);
    assert.equal(authFrom({ host: "::1" }), undefined);
    for (const host of ["0.0.0.0", "::", "192.168.1.2", "example.com", "127.0.0.1.example.com"]) {
      assert.throws(() => authFrom({ host }), Problem, host);
      assert.equal(isLocal(host), false, host);
    }
    assert.equal(authFrom({ ...OPEN, allowAnonymous: true }), undefined);
  });

  it("accepts an issuer, with an address that tokens can name", () => {
    assert.deepEqual(authFrom({ ...LOCAL, authIssuer: [ISSUER] }), {
      issuers: [{ issuer: ISSUER }],
    });
    assert.throws(() => authFrom({ ...OPEN, authIssuer: [ISSUER] }), Problem);
    assert.throws(() => authFrom({ ...LOCAL, allowHost: ["a.b"], authIssuer: [ISSUER] }), Problem);
    const auth = authFrom({
      ...OPEN,
      publicUrl: "https://mcp.example.com",
      authIssuer: [ISSUER],
      authAudience: ["api"],
      authScope: ["mcp"],
      authProfile: "keycloak",
    });
    assert.deepEqual(auth, {
      issuers: [{ issuer: ISSUER, profile: "keycloak" }],
      audience: ["api"],
      scopes: ["mcp"],
    });
  });

  it("reads the client's secret from its file", function* () {
    const file = `${yield* useFolder()}/secret`;
    const flags = {
      ...LOCAL,
      authIssuer: [ISSUER],
      authClientId: "parley",
      authClientSecretFile: file,
    };
    assert.throws(() => authFrom(flags), Problem);
    writeFileSync(file, "");
    assert.throws(() => authFrom(flags), Problem);
    writeFileSync(file, "s3cret\n");
    const introspection = { clientId: "parley", clientSecret: "s3cret" };
    assert.deepEqual(authFrom(flags)!.issuers, [{ issuer: ISSUER, introspection }]);
    assert.deepEqual(authFrom(flags)!.signIn, introspection);
  });

  const wrong: { readonly [what: string]: Partial<AccessFlags> } = {
    "an issuer that is no URL": { authIssuer: ["login"] },
    "an issuer without https": { authIssuer: ["http://login.example.com"] },
    "a scope without an issuer": { authScope: ["mcp"] },
    "an audience without an issuer": { authAudience: ["mcp"] },
    "a client without an issuer": { authClientId: "x" },
    "a secret without a client": { authIssuer: [ISSUER], authClientSecretFile: "x" },
    "everybody and an issuer": { authIssuer: [ISSUER], allowAnonymous: true },
    "a token file that does not exist": { tokenFile: "/nowhere/tokens" },
  };
  for (const [what, flags] of Object.entries(wrong)) {
    it(`refuses ${what}`, () => {
      assert.throws(() => authFrom({ ...LOCAL, ...flags }), Problem);
    });
  }
});

describe("reachOf()", () => {
  it("says who can call", () => {
    assert.match(reachOf(LOCAL, undefined), /on this machine/);
    assert.match(reachOf(OPEN, undefined), /Everybody on the network/);
    assert.match(reachOf(OPEN, { issuers: [ISSUER] }), /Only .*sign in at https:\/\/login/);
    assert.match(reachOf(OPEN, { tokenFile: "tokens" }), /Only .*token in tokens/);
  });
});

/** An address of this machine that is not loopback: connections to it come from it. */
const outside = Object.values(networkInterfaces()).flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

/** The status of a GET, which `fetch` cannot send with another host name. */
function statusOf(options: RequestOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ ...options, path: "/mcp" }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    }).on("error", reject).end();
  });
}

function* run(...args: string[]): Operation<Program & { code: number | null }> {
  const program = yield* useProgram(args);
  const { code } = yield* until(program.exit);
  return Object.assign(program, { code });
}

describe("parley serve", () => {
  it("does not listen beyond this machine without access control", function* () {
    const { code, stderr } = yield* run("serve", "--host", "0.0.0.0", "--port", "0");
    assert.equal(code, 2);
    assert.match(stderr, /Cannot listen on "0\.0\.0\.0": .*--allow-anonymous/);
  });

  it("says what to do instead for each address that others can reach, by flag, variable and file", function* () {
    const folder = yield* useFolder();
    writeFileSync(`${folder}/parley.config.json`, JSON.stringify({ host: "::", port: 0 }));
    const ways = [
      [["serve", "--host", "::", "--port", "0"], {}],
      [["serve", "--port", "0"], { env: { HOST: "0.0.0.0" } }],
      [["serve"], { cwd: folder }],
    ] as const;
    for (const [args, options] of ways) {
      const { code, stderr } = yield* runProgram(args, options);
      assert.equal(code, 2, stderr);
      for (const flag of ["--auth-issuer", "--token-file", "--allow-anonymous"]) {
        assert.ok(stderr.includes(flag), stderr);
      }
    }
  });

  it("says in its banner who can reach it", function* () {
    const banners = [
      [[], /Programs on this machine can call the server/],
      [["--host", "0.0.0.0", "--allow-anonymous"], /Everybody on the network can call .+, without/],
      [
        ["--auth-issuer", ISSUER, "--public-url", "https://mcp.example.com", "--host", "0.0.0.0"],
        /Only people and programs that sign in at https:\/\/login\.example\.com can call/,
      ],
    ] as const;
    for (const [flags, words] of banners) {
      const program = yield* useProgram(["serve", "--port", "0", ...flags]);
      yield* until(program.says(words));
    }
  });

  it.unless(outside ? undefined : "there is no address but loopback")(
    "does not answer to Host: localhost from a peer that is not on loopback",
    function* () {
      const flags = ["--host", "0.0.0.0", "--port", "0", "--allow-anonymous"];
      const program = yield* useProgram(["serve", ...flags, "--allow-host", outside!]);
      const [, port] = yield* until(program.says(/http:\/\/[\w.]+:(\d+)\/mcp/));
      const status = (address: string, host: string) =>
        until(statusOf({ host: address, port: Number(port), headers: { host } }));
      for (const name of ["localhost", `localhost:${port}`, "127.0.0.1", "[::1]", "LOCALHOST."]) {
        assert.equal(yield* status(outside!, name), 403, name);
      }
      assert.equal(yield* status(outside!, outside!), 405);
      assert.equal(yield* status("127.0.0.1", "localhost"), 405);
    },
  );

  it("accepts the tokens of parley token", function* () {
    const file = `${yield* useFolder()}/tokens`;
    const made = yield* run("token", "nightly", "--token-file", file);
    assert.equal(made.code, 0);
    assert.equal((yield* run("token", "nightly", "--token-file", file)).code, 2);
    const program = yield* useProgram(["serve", "--port", "0", "--token-file", file]);
    const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    yield* until(program.says(/Only programs with a token in/));
    const status = async (headers: Record<string, string>) => {
      const client = new TestClient((request) => fetch(request), { url, headers });
      const exchange = await client.start("tools/list");
      await exchange.leave();
      return exchange.status;
    };
    assert.equal(yield* until(status({})), 401);
    const authorization = `Bearer ${made.stdout.trim()}`;
    assert.equal(yield* until(status({ authorization })), 200);
  });
});
