import assert from "node:assert/strict";
import { type Operation, resource, until } from "effection";
import type { IncomingHttpHeaders } from "node:http";
import { createMcpTool, createParley, toNodeHandler } from "parley-mcp";
import { connect } from "../../src/client/connect.ts";
import { LegacyServer } from "../../src/client/legacy.ts";
import { ModernServer } from "../../src/client/modern.ts";
import { nextAddress } from "../../src/client/redirect.ts";
import type { RemoteServer } from "../../src/client/server.ts";
import type { Person } from "../../src/client/person.ts";
import { ClientError } from "../../src/client/client-error.ts";
import { describe, it } from "../suite.ts";
import { useHttp } from "../support/http-server.ts";

const ME = { name: "test", version: "1" };
const SECRETS = { Authorization: "Bearer s3cret", "X-Api-Key": "s3cret" };

const greet = createMcpTool("greet").description("Greets.").execute(function* () {
  return "hello";
});

const nobody = { progress() {}, log() {}, done() {} } as unknown as Person;

interface Recorded {
  readonly url: string;
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
}

/** A real server that records the headers of each request. */
function useServer(): Operation<Recorded> {
  return resource(function* (provide) {
    const parley = createParley({ serve: [greet] });
    const handle = toNodeHandler(parley.fetch);
    const requests: Recorded["requests"] = [];
    const url = yield* useHttp((request, response) => {
      requests.push({ path: request.url!, headers: request.headers });
      handle(request, response);
    });
    try {
      yield* provide({ url, requests });
    } finally {
      yield* until(parley.close());
    }
  });
}

/** A server that redirects everybody. */
function* useRedirect(status: number, to: () => string): Operation<Recorded> {
  const requests: Recorded["requests"] = [];
  const url = yield* useHttp((request, response) => {
    requests.push({ path: request.url!, headers: request.headers });
    // The connection can be reused only once the whole body has been read.
    request.resume().on("end", () => response.writeHead(status, { location: to() }).end());
  });
  return { url, requests };
}

function* useClient(era: "modern" | "legacy", url: string): Operation<RemoteServer> {
  const endpoint = { url, headers: SECRETS };
  if (era === "modern") return new ModernServer(endpoint, ME);
  const server = new LegacyServer(endpoint);
  yield* server.initialize(ME);
  return server;
}

function* callGreet(server: RemoteServer): Operation<void> {
  const [tool] = yield* server.tools();
  const { content } = yield* server.call(tool!, {}, nobody);
  assert.deepEqual(content, [{ type: "text", text: "hello" }]);
  yield* server.close();
}

function* problemOf(operation: () => Operation<unknown>): Operation<string> {
  try {
    yield* operation();
  } catch (error) {
    assert.ok(error instanceof ClientError, String(error));
    return error.message;
  }
  assert.fail("it succeeded");
}

describe("the command line's client, when it is redirected,", () => {
  for (const era of ["modern", "legacy"] as const) {
    it(`sends none of the person's headers to another origin, ${era} era`, function* () {
      const server = yield* useServer();
      const redirect = yield* useRedirect(307, () => server.url);
      yield* callGreet(yield* useClient(era, redirect.url));
      assert.ok(server.requests.length >= 2);
      for (const { headers } of server.requests) {
        assert.doesNotMatch(JSON.stringify(headers), /s3cret|x-api-key/i);
      }
      assert.equal(redirect.requests[0]!.headers.authorization, SECRETS.Authorization);
    });

    it(`keeps the headers within the origin, ${era} era`, function* () {
      const parley = createParley({ serve: [greet] });
      const handle = toNodeHandler(parley.fetch);
      const seen: (string | undefined)[] = [];
      const url = yield* useHttp((request, response) => {
        if (request.url === "/old") {
          request.resume().on("end", () => response.writeHead(308, { location: "/mcp" }).end());
          return;
        }
        seen.push(request.headers.authorization);
        handle(request, response);
      });
      yield* callGreet(yield* useClient(era, new URL("/old", url).href));
      yield* until(parley.close());
      assert.ok(seen.length >= 2);
      assert.deepEqual(new Set(seen), new Set([SECRETS.Authorization]));
    });
  }

  it("sends a session's id only to the server that gave it", function* () {
    const server = yield* useServer();
    const redirect = yield* useRedirect(307, () => server.url);
    yield* callGreet(yield* useClient("legacy", redirect.url));
    const sessions = (requests: Recorded["requests"]) =>
      requests.filter(({ headers }) => headers["mcp-session-id"] !== undefined).length;
    assert.ok(sessions(server.requests) >= 2);
    assert.equal(sessions(redirect.requests), 0);

    // Also if a server redirects a session that it created itself.
    const other = yield* useServer();
    const parley = createParley({ serve: [greet] });
    const handle = toNodeHandler(parley.fetch);
    const url = yield* useHttp((request, response) => {
      if (request.headers["mcp-session-id"] === undefined) handle(request, response);
      else request.resume().on("end", () => response.writeHead(307, { location: other.url }).end());
    });
    const client = yield* useClient("legacy", url);
    try {
      yield* client.tools();
      assert.fail("it was served");
    } catch {
      assert.ok(other.requests.length > 0);
      assert.equal(sessions(other.requests), 0);
    }
    yield* until(parley.close());
  });

  it("does not change the method of a call", function* () {
    const server = yield* useServer();
    for (const status of [301, 302, 303]) {
      const redirect = yield* useRedirect(status, () => server.url);
      const message = yield* problemOf(() => connect({ url: redirect.url, headers: SECRETS }, ME));
      assert.equal(
        message,
        `Cannot reach ${redirect.url}: it redirects to ${server.url} with HTTP ${status}, which drops the request body; use that address as the URL`,
      );
    }
    assert.deepEqual(server.requests, []);
  });

  it("follows five redirects, and no more", function* () {
    const loop: Recorded = yield* useRedirect(307, () => loop.url);
    const message = yield* problemOf(() => connect({ url: loop.url, headers: {} }, ME));
    assert.match(message, /^Cannot reach \S+: it redirects more than 5 times; /);
    assert.equal(loop.requests.length, 6);
  });

  it("says that headers were left out if another origin requires some", function* () {
    const guarded = yield* useHttp((request, response) => {
      request.resume().on("end", () => response.writeHead(401).end());
    });
    const redirect = yield* useRedirect(307, () => guarded);
    const message = yield* problemOf(() => connect({ url: redirect.url, headers: SECRETS }, ME));
    assert.equal(
      message,
      `Cannot connect to ${redirect.url}: it redirects to ${guarded}, which denied access (HTTP 401: the server answered with HTTP status 401) and did not receive your headers; if you trust that address, use it as the URL`,
    );
  });

  it("gets an address that can be followed", () => {
    const from = new URL("https://a.example/mcp");
    const next = (location: string | null) => nextAddress(from, "POST", 307, location).href;
    assert.equal(next("/other"), "https://a.example/other");
    assert.equal(next("https://b.example/mcp"), "https://b.example/mcp");
    // A user and password in the address, chosen by somebody else.
    assert.equal(next("https://u:p@b.example/mcp"), "https://b.example/mcp");
    for (const location of [null, "", "http://a.example/mcp", "file:///etc/passwd", "https://"]) {
      assert.throws(() => next(location), ClientError, String(location));
    }
    assert.equal(
      nextAddress(new URL("http://a.example/"), "GET", 302, "http://b.example/").href,
      "http://b.example/",
    );
  });
});
