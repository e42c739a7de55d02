import assert from "node:assert/strict";
import { ensure, type Operation, until } from "effection";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { createMcpTool, createParley, type ParleyOptions } from "parley-mcp";
import { expiryFinding } from "../../../src/cli/doctor/certificate.ts";
import { clockFindings } from "../../../src/cli/doctor/clock.ts";
import type { Finding } from "../../../src/cli/doctor/probe.ts";
import { examineServer, type RemoteOptions } from "../../../src/cli/doctor/remote.ts";
import { listen } from "../../../src/platform/listen.ts";
import { useTrust } from "../../../src/platform/trust.ts";
import { useProtected } from "../../auth/protected.ts";
import { currentRuntime } from "../../harness/toolchain.ts";
import { describe, it } from "../../suite.ts";
import { MACHINE } from "../../support/authorization-server.ts";
import { type Certificate, certificateFor, createAuthority } from "../../support/certificate.ts";
import { useFolder } from "../../support/folder.ts";
import { useHttp } from "../../support/http-server.ts";
import { runProgram } from "../../support/program.ts";
import { useProxy } from "./proxy.ts";

/** Long enough for a busy machine. Nothing waits for it unless a test fails. */
const LONG = 60_000;

const hello = createMcpTool("hello").description("Says hello.").execute(function* () {
  return "hello";
});

function* useServer(options: ParleyOptions = {}): Operation<string> {
  const parley = createParley({ serve: [hello], ...options });
  const listening = yield* until(listen(parley.fetch, { port: 0, hostname: "127.0.0.1" }));
  yield* ensure(() => until(parley.close().then(() => listening.stop())));
  return `http://127.0.0.1:${listening.port}/mcp`;
}

/** A server behind a proxy that terminates TLS. */
function* useSecureProxy(certificate: Certificate): Operation<string> {
  const { port } = new URL(yield* useServer());
  const sockets = new Set<Socket>();
  const server = createServer(certificate, (outside) => {
    const inside = connect(Number(port), "127.0.0.1");
    for (const [from, to] of [[outside, inside], [inside, outside]] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy()).pipe(to);
    }
  });
  server.on("tlsClientError", () => {});
  yield* until(new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  yield* ensure(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}/mcp`;
}

function* examine(url: string, options: Partial<RemoteOptions> = {}): Operation<Finding[]> {
  const found: Finding[] = [];
  const patient = { patience: LONG, streamPatience: LONG, total: 10 * LONG };
  yield* examineServer(
    { url: new URL(url), headers: {}, version: "1.2.3", ...patient, ...options },
    (...findings) => found.push(...findings),
  );
  return found;
}

function of(check: string, findings: readonly Finding[]): Finding {
  const [found] = findings.filter((finding) => finding.check === check);
  assert.ok(found, `nothing was found about ${check}: ${JSON.stringify(findings)}`);
  if (found.status === "problem") assert.ok(found.remedy, "a problem has a remedy");
  return found;
}

function problems(findings: readonly Finding[]): string[] {
  return findings.filter(({ status }) => status === "problem").map(({ check }) => check);
}

describe("parley doctor URL", () => {
  it("finds no problem in a server on this machine", function* () {
    const found = yield* examine(yield* useServer());
    assert.deepEqual(problems(found), [], JSON.stringify(found));
    for (const check of ["server", "store", "cors", "clock", "streams"]) {
      assert.equal(of(check, found).status, "ok", check);
    }
  });

  it("finds no problem in a server that people sign in to", function* () {
    const { url, issuer } = yield* useProtected();
    const found = yield* examine(url);
    assert.deepEqual(problems(found), [], JSON.stringify(found));
    for (const check of ["server", "audience", "issuer", "clock"]) {
      assert.equal(of(check, found).status, "ok", check);
    }
    assert.equal(of("streams", found).status, "skipped");
    const token = yield* until(issuer.clientToken(MACHINE.clientId, MACHINE.clientSecret, "mcp"));
    const signedIn = yield* examine(url, { headers: { Authorization: `Bearer ${token}` } });
    assert.deepEqual(problems(signedIn), [], JSON.stringify(signedIn));
    for (const check of ["streams", "token"]) assert.equal(of(check, signedIn).status, "ok", check);
    assert.ok(!JSON.stringify(signedIn).includes(token));
  });

  it("finds a proxy that collects streams", function* () {
    const url = yield* useProxy(yield* useServer(), { buffers: true });
    const found = yield* examine(url, { streamPatience: 300 });
    assert.deepEqual(problems(found), ["streams"]);
    const passing = yield* examine(yield* useProxy(yield* useServer(), {}));
    assert.equal(of("streams", passing).status, "ok");
  });

  it("finds a proxy that compresses streams", function* () {
    const url = yield* useProxy(yield* useServer(), {
      headers: (headers) => {
        const isStream = headers.get("content-type") === "text/event-stream";
        if (isStream) headers.set("content-encoding", "identity");
      },
    });
    assert.equal(of("streams", yield* examine(url)).status, "warning");
  });

  it("finds a wrong clock, before and after ours", function* () {
    const target = yield* useServer();
    for (const hour of [3_600_000, -3_600_000]) {
      const url = yield* useProxy(target, {
        headers: (headers) => headers.set("date", new Date(Date.now() + hour).toUTCString()),
      });
      assert.deepEqual(problems(yield* examine(url)), ["clock"]);
    }
  });

  it("compares the server's clock with those of its authorization servers", () => {
    const statuses = (server: number, issuer: number) =>
      clockFindings([{ who: "the server", ahead: server }, { who: "it", ahead: issuer }])
        .map(({ status }) => status);
    assert.deepEqual(statuses(0, 0), ["ok"]);
    assert.deepEqual(statuses(0, 60_000), ["problem"]);
    assert.deepEqual(statuses(60_000, 0), ["problem", "problem"]);
    // Both agree, so that the clock of this machine is wrong.
    assert.deepEqual(statuses(60_000, 60_000), ["warning"]);
  });

  it("finds metadata that cannot be read, and a challenge that a proxy removes", function* () {
    const { url: target } = yield* useProtected();
    const { port } = new URL(target);
    const hidden = yield* useProxy(target, {
      answers: ({ url }) => url!.startsWith("/.well-known/") ? 404 : undefined,
      headers: (headers) => {
        const challenge = headers.get("www-authenticate");
        const own = challenge?.replaceAll(`:${port}/`, `:${new URL(hidden).port}/`);
        if (own !== undefined) headers.set("www-authenticate", own);
      },
    });
    assert.deepEqual(problems(yield* examine(hidden)), ["metadata"]);
    const silent = yield* useProxy(target, {
      headers: (headers) => headers.delete("www-authenticate"),
    });
    assert.ok(problems(yield* examine(silent)).includes("metadata"));
  });

  it("finds metadata of another address, which clients refuse", function* () {
    const { url: target } = yield* useProtected();
    assert.deepEqual(problems(yield* examine(yield* useProxy(target, {}))), ["audience"]);
  });

  it("reports an authorization server that cannot be reached, or that has another name", function* () {
    const mistakes = [
      (issuer: string) => ({ issuer: `${issuer}/` }),
      (issuer: string) => ({ issuer, authorization_endpoint: issuer, token_endpoint: issuer }),
      () => undefined,
    ];
    for (const mistake of mistakes) {
      const issuer = new URL(
        yield* useHttp((_, response) => {
          const document = mistake(issuer);
          response.writeHead(document ? 200 : 404, { "content-type": "application/json" });
          response.end(JSON.stringify(document ?? {}));
        }),
      ).origin;
      const { url } = yield* useProtected({ auth: () => ({ issuers: [issuer] }) });
      assert.deepEqual(problems(yield* examine(url)), ["issuer"]);
    }
  });

  /** An authorization server that does one thing wrong, and a server that names it. */
  function* useIssuer(
    change: { readonly [name: string]: unknown },
    date?: string,
  ): Operation<string> {
    const address = yield* useHttp((request, response) => {
      const issuer = new URL(address).origin;
      const document = request.url === "/jwks" ? { keys: [] } : {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        code_challenge_methods_supported: ["S256"],
        ...change,
      };
      response.writeHead(200, { "content-type": "application/json", ...(date && { date }) });
      response.end(JSON.stringify(document));
    });
    const { url } = yield* useProtected({ auth: () => ({ issuers: [new URL(address).origin] }) });
    return url;
  }

  it("finds an authorization server whose clock differs from that of the server", function* () {
    const right = yield* examine(yield* useIssuer({}));
    assert.deepEqual(problems(right), [], JSON.stringify(right));
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const found = yield* examine(yield* useIssuer({}, date));
    assert.deepEqual(problems(found), ["clock"]);
    assert.match(of("clock", found).message, /behind the clock of http/);
  });

  it("finds an authorization server with which clients cannot sign in", function* () {
    const mistakes = [
      { code_challenge_methods_supported: ["plain"] },
      { authorization_endpoint: undefined },
      { token_endpoint: undefined },
      { jwks_uri: "http://127.0.0.1:9/jwks" },
    ];
    for (const mistake of mistakes) {
      const found = yield* examine(yield* useIssuer(mistake));
      assert.deepEqual(problems(found), ["issuer"], JSON.stringify(mistake));
    }
  });

  it("finds a proxy that refuses the preflight of web pages, and an origin that may not call", function* () {
    const target = yield* useServer();
    const refusing = yield* useProxy(target, {
      answers: ({ method }) => method === "OPTIONS" ? 401 : undefined,
    });
    assert.deepEqual(problems(yield* examine(refusing)), ["cors"]);
    const hiding = yield* useProxy(target, {
      headers: (headers) => headers.delete("access-control-expose-headers"),
    });
    assert.deepEqual(problems(yield* examine(hiding)), ["cors"]);
    const origin = "https://app.example.com";
    assert.deepEqual(problems(yield* examine(target, { origin })), ["cors"]);
    const allowing = yield* useServer({ allowOrigins: [origin] });
    assert.deepEqual(problems(yield* examine(allowing, { origin })), []);
  });

  it("finds a store that cannot be written to", function* () {
    const url = yield* useProxy(yield* useServer(), {
      answers: (request) => request.url === "/readyz" ? 503 : undefined,
    });
    assert.deepEqual(problems(yield* examine(url)), ["store"]);
  });

  it("finds a certificate that is not trusted, has expired, or expires soon", function* () {
    const untrusted = yield* examine(yield* useSecureProxy(certificateFor("localhost")));
    assert.deepEqual(problems(untrusted), ["tls"]);
    assert.match(of("tls", untrusted.slice(-1)).remedy!, /--ca-file/);
    const authority = createAuthority();
    const past = yield* useSecureProxy(
      certificateFor("localhost", { authority, expiresIn: -3_600_000 }),
    );
    const expired = yield* examine(past, { trust: yield* useTrust(authority.cert) });
    assert.deepEqual(problems(expired), ["tls", "tls"]);
    assert.match(of("tls", expired).message, /expired on/);
    const day = 24 * 3_600_000;
    const status = (days: number) => expiryFinding(days * day, 0).status;
    assert.deepEqual([-1, 1, 60].map(status), ["problem", "warning", "ok"]);
  });

  it("trusts a private authority if it is told to, for this host name only", function* () {
    const authority = createAuthority();
    const good = certificateFor("localhost", { authority, expiresIn: 90 * 24 * 3_600_000 });
    // Each client is new, so that none resumes the connection of another.
    const examineWith = function* (certificate: Certificate) {
      const trust = yield* useTrust(authority.cert);
      return yield* examine(yield* useSecureProxy(certificate), { trust });
    };
    const found = yield* examineWith(good);
    assert.deepEqual(problems(found), [], JSON.stringify(found));
    assert.equal(of("tls", found).status, "ok");
    assert.equal(of("streams", found).status, "ok");
    // Nobody else is trusted because of it.
    const other = certificateFor("localhost", { authority: createAuthority() });
    assert.deepEqual(problems(yield* examineWith(other)), ["tls"]);
    const wrongName = certificateFor("elsewhere.example", { authority });
    const named = yield* examineWith(wrongName);
    assert.deepEqual(problems(named), ["tls"], JSON.stringify(named));
  });

  it("takes the authority from --ca-file, or from the variable of the runtime", function* () {
    const authority = createAuthority();
    const file = join(yield* useFolder(), "authority.pem");
    writeFileSync(file, authority.cert);
    const days = 90 * 24 * 3_600_000;
    const url = yield* useSecureProxy(certificateFor("localhost", { authority, expiresIn: days }));
    const trusted = yield* runProgram(["doctor", url, "--ca-file", file]);
    assert.equal(trusted.code, 0, trusted.stdout + trusted.stderr);
    assert.equal((yield* runProgram(["doctor", url])).code, 1);
    const variable = currentRuntime() === "deno" ? "DENO_CERT" : "NODE_EXTRA_CA_CERTS";
    const told = yield* runProgram(["doctor", url], { env: { [variable]: file } });
    assert.equal(told.code, 0, told.stdout + told.stderr);
    writeFileSync(file, "nothing");
    const empty = yield* runProgram(["doctor", url, "--ca-file", file]);
    assert.deepEqual([empty.code, empty.stdout], [2, ""]);
    assert.match(empty.stderr, /^Cannot use the certificates in .+; .+PEM/);
  });

  it("finds a proxy that changes the headers of pages, or does not forward them", function* () {
    const target = yield* useServer();
    assert.equal(of("pages", yield* examine(target)).status, "ok");
    const name = "content-security-policy";
    for (
      const change of [
        (headers: Headers) => headers.delete(name),
        (headers: Headers) => headers.set(name, "frame-ancestors *"),
      ]
    ) {
      const found = yield* examine(yield* useProxy(target, { headers: change }));
      assert.deepEqual(problems(found), ["pages"]);
      assert.match(of("pages", found).message, /content-security-policy/);
    }
    const own = yield* useProxy(target, {
      answers: ({ url }) => url!.startsWith("/pages/") ? 502 : undefined,
    });
    assert.equal(of("pages", yield* examine(own)).status, "skipped");
  });

  it("finds an address at which there is no MCP server, or that redirects", function* () {
    const empty = yield* useHttp((_, response) => response.writeHead(404).end("no"));
    assert.ok(problems(yield* examine(empty)).includes("server"));
    const away = yield* useHttp((_, response) => {
      response.writeHead(301, { location: "https://mcp.example.com/mcp?secret=1" }).end();
    });
    const found = yield* examine(away);
    assert.deepEqual(problems(found), ["connection"]);
    assert.ok(!JSON.stringify(found).includes("secret"));
  });

  it("ends in time if a server does not answer", function* () {
    const url = yield* useHttp(() => {});
    assert.deepEqual(problems(yield* examine(url, { patience: 100 })), ["connection"]);
    assert.deepEqual(problems(yield* examine(url, { total: 100 })), ["time"]);
  });

  it("exits with 1 if there is a problem, and prints no secret", function* () {
    const target = yield* useServer();
    const secret = ["--header", "Authorization: Bearer s3cret-t0ken"];
    const healthy = yield* runProgram(["doctor", target, ...secret]);
    assert.equal(healthy.code, 0, healthy.stdout + healthy.stderr);
    assert.match(healthy.stdout, /^ok +streams: .+\n.*No problems\.$/m);
    const away = yield* useHttp((_, response) => response.writeHead(404).end());
    const sick = yield* runProgram(["doctor", away, "--json", ...secret]);
    assert.equal(sick.code, 1, sick.stderr);
    const { ok, findings } = JSON.parse(sick.stdout);
    assert.equal(ok, false);
    assert.ok(problems(findings).includes("server"));
    const wrong = yield* runProgram(["doctor", "http://me:s3cret-t0ken@127.0.0.1/"]);
    assert.equal(wrong.code, 2);
    for (const { stdout, stderr } of [healthy, sick, wrong]) {
      assert.ok(!(stdout + stderr).includes("s3cret-t0ken"));
    }
  });
});
