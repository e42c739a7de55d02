/** Signing in with the program, from nothing but the server's refusal. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { absence } from "../../harness/system.ts";
import { describe, it } from "../../suite.ts";
import { Browser } from "../../support/cookie-browser.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram, useProgram } from "../../support/program.ts";
import { useSecretService } from "../../support/secret-service.ts";
import { DOCUMENTS } from "../../support/signed-in-clients.ts";
import { type ProtectedServer, signInEnvironment, useProtectedServer } from "./protected-server.ts";

const within = { within: 60_000 };

type Env = ReturnType<typeof signInEnvironment>;

/** Calls a tool, and returns the text of its result. */
function* called(url: string, tool: string, env: Env, ...flags: string[]): Operation<string> {
  const args = ["call", tool, "{}", "--url", url, ...flags];
  const { code, stdout, stderr } = yield* runProgram(args, { env });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

const countOf = ({ issuer }: ProtectedServer, request: string) =>
  issuer.requests.filter((one) => one === request).length;

describe("parley call --url", () => {
  it("signs in with a browser, and does not ask again the next time", function* () {
    const server = yield* useProtectedServer();
    const env = signInEnvironment(yield* useFolder());
    const call = ["call", "hello", "--url", server.url];
    const first = yield* runProgram(call, { env });
    assert.deepEqual([first.code, first.stdout], [0, "Hello alice\n"], first.stderr);
    assert.match(first.stderr, /asks you to sign in at 127\.0\.0\.1:\d+/);
    const asked = countOf(server, "GET /auth");
    const second = yield* runProgram(call, { env });
    assert.deepEqual([second.code, second.stdout, second.stderr], [0, "Hello alice\n", ""]);
    assert.equal(countOf(server, "GET /auth"), asked);
  }, within);

  it("prints and stores no token that others could read", function* () {
    const server = yield* useProtectedServer();
    const folder = yield* useFolder();
    const { stdout, stderr } = yield* runProgram(["call", "hello", "--url", server.url], {
      env: signInEnvironment(folder),
    });
    const tokens = server.authorizations.flatMap((one) => one?.split(" ")[1] ?? []);
    assert.ok(tokens.length > 0);
    const vault = join(folder, "parley/vault");
    const files = readdirSync(vault).map((name) => readFileSync(join(vault, name), "utf8"));
    for (const token of tokens) {
      for (const text of [stdout, stderr, ...files]) assert.equal(text.includes(token), false);
    }
  }, within);

  it("asks for more access when a tool needs it", function* () {
    const server = yield* useProtectedServer();
    const env = signInEnvironment(yield* useFolder());
    assert.equal(yield* called(server.url, "hello", env), "Hello alice");
    const all = "Booked for alice with flights:book mcp";
    assert.equal(yield* called(server.url, "book", env), all);
    assert.equal(yield* called(server.url, "book", env), all);
  }, within);

  it("refreshes tokens that have expired, again and again", function* () {
    // The program treats tokens as expired some seconds before they are.
    const server = yield* useProtectedServer({ tokenTtl: 9 });
    const env = signInEnvironment(yield* useFolder());
    assert.equal(yield* called(server.url, "hello", env), "Hello alice");
    const asked = countOf(server, "GET /auth");
    for (let times = 0; times < 2; times++) {
      assert.equal(yield* called(server.url, "hello", env), "Hello alice");
    }
    assert.equal(countOf(server, "GET /auth"), asked);
    assert.equal(countOf(server, "POST /token"), 3);
  }, within);

  it("signs in with a client ID metadata document, and with a client that is given", function* () {
    const document = [...DOCUMENTS.keys()][0]!;
    const redirect_uris = ["http://127.0.0.1/callback"];
    const server = yield* useProtectedServer({
      documents: new Map([[document, { ...DOCUMENTS.get(document), redirect_uris }]]),
      clients: [{
        client_id: "mine",
        redirect_uris,
        application_type: "native",
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
      }],
    });
    for (const flags of [["--client-metadata-url", document], ["--client-id", "mine"]]) {
      const env = signInEnvironment(yield* useFolder());
      assert.equal(yield* called(server.url, "hello", env, ...flags), "Hello alice");
    }
    assert.equal(countOf(server, "POST /reg"), 0);
  }, within);

  it("fails at once without a terminal and a browser", function* () {
    const server = yield* useProtectedServer();
    const env = { ...signInEnvironment(yield* useFolder()), BROWSER: undefined };
    const { code, stderr } = yield* runProgram(["call", "hello", "--url", server.url], { env });
    assert.equal(code, 1);
    assert.match(stderr, /^Cannot sign in to .+; .*--header "Authorization: …"/);
    assert.equal(countOf(server, "POST /reg"), 0);
  }, within);

  it("does not sign in if the person passes a token", function* () {
    const server = yield* useProtectedServer();
    const env = signInEnvironment(yield* useFolder());
    const args = ["call", "hello", "--url", server.url, "--header", "authorization: Bearer x"];
    const { code, stderr } = yield* runProgram(args, { env });
    assert.equal(code, 1);
    assert.match(stderr, /access was denied/);
    assert.deepEqual(server.issuer.requests, []);
  }, within);

  it("prints a link that works by hand if the browser cannot be started", function* () {
    const server = yield* useProtectedServer();
    const env = { ...signInEnvironment(yield* useFolder()), BROWSER: "/nonexistent/browser %s" };
    const program = yield* useProgram(["call", "hello", "--url", server.url], { env });
    const [, link] = yield* until(program.says(/^ {2}(http\S+)$/m));
    yield* until(program.says(/could not be started/));
    yield* until(new Browser({ as_user: "bob" }).visit(link!));
    assert.equal((yield* until(program.exit)).code, 0);
    assert.equal(program.stdout, "Hello bob\n");
  }, within);

  it("stops listening and exits on Ctrl-C", function* () {
    const server = yield* useProtectedServer();
    const env = { ...signInEnvironment(yield* useFolder()), BROWSER: "/nonexistent/browser" };
    const program = yield* useProgram(["call", "hello", "--url", server.url], { env });
    const [, callback] = yield* until(program.says(/redirect_uri=([^&\s]+)/));
    yield* until(program.says(/Stop with Ctrl-C/));
    program.signal("SIGINT");
    assert.equal((yield* until(program.exit)).code, 130);
    const closed = fetch(decodeURIComponent(callback!)).then(() => false, () => true);
    assert.equal(yield* until(closed), true);
  }, within);
});

describe("parley call --url with a keyring", () => {
  it.unless(absence("keyring"))("keeps its tokens there", function* () {
    const server = yield* useProtectedServer();
    const folder = yield* useFolder();
    const { env: bus } = yield* useSecretService();
    const { XDG_CONFIG_HOME, BROWSER } = signInEnvironment(folder);
    const env = { ...bus, XDG_CONFIG_HOME, BROWSER, PARLEY_PASSPHRASE: undefined };
    for (let times = 0; times < 2; times++) {
      assert.equal(yield* called(server.url, "hello", env), "Hello alice");
    }
    assert.equal(countOf(server, "POST /token"), 1);
    const files = readdirSync(join(folder, "parley/vault")).sort();
    assert.deepEqual(files, ["keyring.place", "vault.lock"]);
    assert.equal((yield* runProgram(["sign-out", server.url], { env })).code, 0);
  }, { within: 120_000 });
});

describe("parley install --url --check", () => {
  it("signs in, and installs only if the server can be used", function* () {
    const server = yield* useProtectedServer();
    const folder = yield* useFolder();
    const env = {
      ...signInEnvironment(folder),
      CLAUDE_CONFIG_DIR: folder,
      BROWSER: undefined,
    };
    const install = ["install", "claude-code", "--check", "--url", server.url];
    const file = join(folder, ".claude.json");
    const refused = yield* runProgram(install, { env });
    assert.deepEqual([refused.code, existsSync(file)], [1, false], refused.stderr);
    const { BROWSER } = signInEnvironment(folder);
    const { code, stderr } = yield* runProgram(install, { env: { ...env, BROWSER } });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /answers\. It has 2 tools\./);
    assert.match(readFileSync(file, "utf8"), new RegExp(server.url));
    assert.equal((yield* runProgram(["install", "claude-code", "--check"], { env })).code, 2);
  }, within);
});

describe("parley sign-out", () => {
  it("revokes the tokens and deletes them", function* () {
    const server = yield* useProtectedServer();
    const folder = yield* useFolder();
    const env = signInEnvironment(folder);
    // Without a path, the URL is that of the usual endpoint.
    const { origin } = new URL(server.url);
    assert.equal(yield* called(origin, "hello", env), "Hello alice");
    const out = yield* runProgram(["sign-out", server.url], { env });
    assert.deepEqual([out.code, out.stdout], [0, ""], out.stderr);
    assert.match(out.stderr, /^Signed out of \S+\.\n$/);
    assert.equal(countOf(server, "POST /token/revocation"), 1);
    const again = yield* runProgram(["sign-out", server.url], { env });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^Cannot sign out of .+; you are not signed in to any server\n$/);
  }, within);
});
