import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { createManualClock, createMcpTool, createParley, type ParleyOptions } from "parley-mcp";
import { TestIssuer } from "../auth/issuer.ts";
import { useProtected } from "../auth/protected.ts";
import { listFiles, readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";
import { Browser } from "../support/cookie-browser.ts";

const hello = createMcpTool("hello").description("Says hello.").execute(function* () {
  return "Hello!";
});
const ORIGIN = "http://127.0.0.1:7411";

type Headers = { readonly [name: string]: string };

/** A server in memory, and requests to it. */
class Served {
  readonly clock = createManualClock();
  readonly parley;
  /** What the terminal heard. */
  opened = 0;

  constructor(options: ParleyOptions = {}) {
    this.parley = createParley({
      serve: [hello],
      clock: this.clock,
      console: { onOpened: () => this.opened++ },
      ...options,
    });
  }

  async send(path: string, headers: Headers = {}, init: RequestInit = {}): Promise<Response> {
    const url = new URL(path, headers["host"] ? `http://${headers["host"]}` : ORIGIN);
    return await this.parley.fetch(new Request(url, { ...init, headers, redirect: "manual" }));
  }

  async status(path: string, headers: Headers = {}, init: RequestInit = {}): Promise<number> {
    const response = await this.send(path, headers, init);
    await response.body?.cancel();
    return response.status;
  }

  /** Opens a link, and exchanges its ticket. */
  async token(): Promise<string> {
    const response = await this.send(await this.parley.consoleLink());
    const [, ticket = ""] = response.headers.get("location")!.split("#ticket=");
    const { token } = await (await this.send("/console/token", {}, post(ticket))).json();
    return token;
  }
}

const post = (body: string): RequestInit => ({ method: "POST", body });

async function serving(
  options: ParleyOptions,
  body: (server: Served) => Promise<void>,
): Promise<void> {
  const server = new Served(options);
  try {
    await body(server);
  } finally {
    await server.parley.close();
  }
}

describe("the console while it is off", () => {
  it("does not exist", () =>
    serving({ console: false }, async (server) => {
      for (const path of ["/", "/console", "/console/open?code=x", "/console/about"]) {
        assert.equal(await server.status(path), 404, path);
      }
      await assert.rejects(server.parley.consoleLink(), TypeError);
    }));

  it("is not loaded: no other file imports its code, except its types and on first use", () => {
    const others = listFiles("src", ".ts").filter((path) => !/^src\/(?:ui\/)?console\//.test(path));
    const importing = others.filter((path) =>
      /^(?:import|export) (?!type )[^;]*?from "[^"]*\/console\//m.test(readText(path))
    );
    assert.deepEqual(importing, []);
  });
});

describe("a link to the console", () => {
  it("works once, and leaves the address", () =>
    serving({}, async (server) => {
      const link = await server.parley.consoleLink();
      const first = await server.send(link);
      assert.equal(first.status, 303);
      const [page, ticket = ""] = first.headers.get("location")!.split("#ticket=");
      assert.equal(new URL(page!, new URL(link, ORIGIN)).href, `${ORIGIN}/console`);
      assert.equal(first.headers.get("referrer-policy"), "no-referrer");
      assert.equal(server.opened, 1);
      assert.equal(await server.status(link), 403);
      assert.equal(await server.status("/console/open?code=guess"), 403);
      const response = await server.send("/console/token", {}, post(ticket));
      const { token } = await response.json();
      assert.equal(await server.status("/console/token", {}, post(ticket)), 403);
      assert.equal(await server.status("/console/token", {}, post("x".repeat(100_000))), 403);
      const about = await server.send("/console/about", { "x-parley-console": token });
      const { visitor } = await about.json();
      assert.deepEqual(visitor, { name: "operator", mayAct: true, signedIn: false });
      assert.equal(about.headers.get("cache-control"), "no-store");
    }));

  it("is not used up by a browser that loads pages ahead", () =>
    serving({}, async (server) => {
      const link = await server.parley.consoleLink();
      assert.equal(await server.status(link, { "sec-purpose": "prefetch;prerender" }), 503);
      assert.equal(await server.status(link, {}, { method: "HEAD" }), 503);
      assert.equal(await server.status(link), 303);
    }));

  it("opens the console only on the machine of the server", () =>
    serving({ allowHosts: ["parley.example"] }, async (server) => {
      const link = await server.parley.consoleLink();
      const token = await server.token();
      const away = { host: "parley.example" };
      assert.equal(await server.status(link, away), 403);
      assert.equal(await server.status("/console", away), 403);
      const all = { ...away, "x-parley-console": token };
      assert.equal(await server.status("/console/about", all), 403);
      assert.equal(await server.status("/console/token", away, post("x")), 403);
      assert.equal(await server.status(link), 303);
    }));

  it("can be created by the holder of a token, for another tab", () =>
    serving({}, async (server) => {
      const headers = { "x-parley-console": await server.token() };
      const response = await server.send("/console/link", headers, post(""));
      const { link } = await response.json();
      assert.equal(await server.status(link), 303);
      assert.equal(await server.status("/console/link", {}, post("")), 401);
    }));
});

describe("the token of the console", () => {
  it("is needed for everything except the page itself", () =>
    serving({}, async (server) => {
      assert.equal(await server.status("/console"), 200);
      for (const headers of [{}, { "x-parley-console": "guess" }]) {
        for (const path of ["/console/about", "/console/api/calls", "/console/nothing"]) {
          assert.equal(await server.status(path, headers), 401, path);
        }
      }
    }));

  it("expires twelve hours after its last use, and a ticket after a minute", () =>
    serving({}, async (server) => {
      const headers = { "x-parley-console": await server.token() };
      const hour = 3_600_000;
      for (const ahead of [11 * hour, 11 * hour]) {
        server.clock.advance(ahead);
        assert.equal(await server.status("/console/about", headers), 200);
      }
      server.clock.advance(12 * hour);
      assert.equal(await server.status("/console/about", headers), 401);
      const opened = await server.send(await server.parley.consoleLink());
      const [, ticket = ""] = opened.headers.get("location")!.split("#ticket=");
      server.clock.advance(60_000);
      assert.equal(await server.status("/console/token", {}, post(ticket)), 403);
    }));

  it("can be a fixed one for programs, which is not short", () =>
    serving({ console: { token: "t".repeat(32) } }, async (server) => {
      assert.equal(
        await server.status("/console/about", { "x-parley-console": "t".repeat(32) }),
        200,
      );
      assert.equal(
        await server.status("/console/about", { "x-parley-console": "t".repeat(31) }),
        401,
      );
      assert.throws(() => createParley({ console: { token: "short" } }), TypeError);
    }));
});

describe("pages of other origins", () => {
  it("cannot use the console, even with a token, and read nothing", () =>
    serving({ allowOrigins: ["*"] }, async (server) => {
      const token = await server.token();
      for (
        const foreign of [
          { origin: "http://localhost:3000" },
          { origin: "http://127.0.0.1:7412" },
          { origin: "https://evil.example" },
          { origin: "null" },
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site" },
        ]
      ) {
        const headers = { ...foreign, "x-parley-console": token } as Headers;
        for (const [path, init] of [["/console/about", {}], ["/console/link", post("")]] as const) {
          const response = await server.send(path, headers, init);
          assert.equal(response.status, 403, JSON.stringify(foreign));
          assert.equal(response.headers.get("access-control-allow-origin"), null);
          await response.body?.cancel();
        }
      }
      const preflight = { origin: "http://localhost:3000", "access-control-request-method": "GET" };
      const asked = await server.send("/console/about", preflight, { method: "OPTIONS" });
      assert.equal(asked.headers.get("access-control-allow-origin"), null);
      assert.notEqual(asked.status, 204);
      const own = { origin: ORIGIN, "sec-fetch-site": "same-origin", "x-parley-console": token };
      assert.equal(await server.status("/console/about", own), 200);
    }));

  it("cannot frame the page, and the page loads nothing from elsewhere", () =>
    serving({}, async (server) => {
      const page = await server.send("/console");
      const policy = page.headers.get("content-security-policy")!;
      assert.match(policy, /^default-src 'none';/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      assert.equal(page.headers.get("x-frame-options"), "DENY");
      assert.doesNotMatch(await page.text(), /(?:src|href)="https?:/);
      const frame = await server.send("/console/frame");
      assert.match(frame.headers.get("content-security-policy")!, /^sandbox allow-scripts; /);
      assert.doesNotMatch(frame.headers.get("content-security-policy")!, /allow-same-origin/);
      await frame.body?.cancel();
    }));
});

describe("the root of a server", () => {
  it("leads to the console while it is on", () =>
    serving({}, async (server) => {
      const response = await server.send("/");
      assert.equal(response.status, 303);
      assert.equal(new URL(response.headers.get("location")!, ORIGIN).pathname, "/console");
      assert.equal(await server.status("/console/"), 303);
      assert.equal(await server.status("/elsewhere"), 404);
    }));
});

describe("the root of a server whose MCP endpoint it is", () => {
  it("stays that endpoint", () =>
    serving({ path: "/" }, async (server) => {
      assert.equal(await server.status("/"), 405);
      assert.equal(await server.status("/console"), 200);
    }));
});

describe("the console of a server with access control", () => {
  const read = { claims: { scope: "mcp console:read" } };
  const act = { claims: { scope: "mcp console:read console:act" } };

  it("is for callers with its scopes, and acting needs a scope of its own", async () => {
    const issuer = await TestIssuer.create();
    const parley = issuer.server({ scopes: ["mcp"] }, { console: true });
    const send = async (path: string, token: string, method = "GET") => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await parley.fetch(new Request(ORIGIN + path, { method, headers }));
      return { status: response.status, body: await response.json() };
    };
    try {
      assert.equal((await send("/console/about", await issuer.token())).status, 403);
      const reading = await send("/console/about", await issuer.token(read));
      assert.equal(reading.status, 200);
      assert.deepEqual(reading.body.visitor, { name: "alice", mayAct: false, signedIn: true });
      const refused = await send("/console/api/calls/x/cancel", await issuer.token(read), "POST");
      assert.equal(refused.status, 403);
      assert.equal(
        (await send("/console/about", await issuer.token(act))).body.visitor.mayAct,
        true,
      );
      // A person who signed in gets no link: the link is the operator's.
      assert.equal((await send("/console/link", await issuer.token(act), "POST")).status, 403);
    } finally {
      await parley.close();
    }
  });

  it("does not open /mcp: neither its token nor its link is worth anything there", async () => {
    const issuer = await TestIssuer.create();
    const parley = issuer.server({ scopes: ["mcp"] }, { console: true });
    try {
      const opened = await parley.fetch(
        new Request(ORIGIN + await parley.consoleLink(), { redirect: "manual" }),
      );
      const [, ticket = ""] = opened.headers.get("location")!.split("#ticket=");
      const exchanged = await parley.fetch(new Request(`${ORIGIN}/console/token`, post(ticket)));
      const { token } = await exchanged.json();
      for (const headers of [{ "x-parley-console": token }, { authorization: `Bearer ${token}` }]) {
        const response = await parley.fetch(
          new Request(`${ORIGIN}/mcp`, {
            ...post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
            headers: {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              ...headers,
            } as Headers,
          }),
        );
        assert.equal(response.status, 401);
        await response.body?.cancel();
      }
    } finally {
      await parley.close();
    }
  });

  /** A server where people sign in, and whose console is on. */
  function* useSignIn(): Operation<{ origin: string }> {
    const { url, issuer } = yield* useProtected({
      issuer: { clients: [] },
      auth: () => ({ signIn: { clientId: "parley-pages" } }),
      parley: { console: true },
    });
    issuer.register({
      client_id: "parley-pages",
      redirect_uris: [new URL("/signed-in", url).href],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    });
    return { origin: new URL(url).origin };
  }

  it("signs people in, and asks the issuer for its scopes", function* () {
    const { origin } = yield* useSignIn();
    const alice = new Browser({ as_user: "alice" });
    const asked: string[] = [];
    const start = `${origin}/console/sign-in`;
    const { response } = yield* until(
      alice.visit(start, (url) => {
        const scope = new URL(url).searchParams.get("scope");
        if (scope) asked.push(scope);
        return false;
      }, { headers: { accept: "text/html" } }),
    );
    assert.ok(asked[0]!.includes("console:read console:act"), asked[0]);
    assert.equal(response!.status, 200);
    assert.match(yield* until(response!.text()), /Parley console/);
    const about = yield* until(alice.visit(`${origin}/console/about`));
    const { visitor } = yield* until(about.response!.json());
    assert.deepEqual(visitor, { name: "alice", mayAct: true, signedIn: true });
    const stranger = yield* until(new Browser().visit(`${origin}/console/about`));
    assert.equal(stranger.response!.status, 401);
    yield* until(stranger.response!.text());
  });
});
