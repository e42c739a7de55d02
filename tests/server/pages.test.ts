import assert from "node:assert/strict";
import { action, until } from "effection";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createMcpTool, type PageOptions } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { ORIGIN } from "../support/exchange.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { serving, type TestServer } from "../support/legacy/server.ts";
import { useStdio } from "../transport/stdio/channel.ts";

/** Opens a page, reports its address, and stays until somebody has visited it. */
function visited(options: Partial<PageOptions> = {}) {
  return createMcpTool("visited").description("Waits for a visit")
    .execute(function* (_params, ctx) {
      let come = (_path: string) => {};
      const page = yield* ctx.usePage({
        *respond(request) {
          const { pathname } = new URL(request.url);
          come(pathname);
          return new Response(`hello at ${pathname}`, { headers: { "x-mine": "yes" } });
        },
        ...options,
      });
      yield* ctx.log("info", page.url);
      const path = yield* action<string>((resolve) => {
        come = resolve;
        return () => {};
      });
      return `visited at ${path.replace(/[0-9a-f-]{36}/, "…")}`;
    });
}

const broken = createMcpTool("broken").description("Has a page that fails")
  .execute(function* (_params, ctx) {
    const page = yield* ctx.usePage({
      *respond() {
        throw new Error("secret details");
      },
      stays: 1_000,
    });
    return page.url;
  });

const outlasting = createMcpTool("outlasting").description("Leaves a page behind")
  .execute(function* (_params, ctx) {
    const page = yield* ctx.usePage({
      *respond() {
        return new Response("still here");
      },
      stays: 1_000,
    });
    return page.url;
  });

const where = createMcpTool("where").description("Tells where it runs")
  .execute(function* (_params, ctx) {
    return { ...ctx.server, local: ctx.server.local, url: ctx.server.url, who: ctx.principal.id };
  });

async function pageOf(client: TestClient, name = "visited") {
  const call = await client.call(name);
  const { params } = await call.expect("notifications/message");
  return { call, url: params.data as string };
}

const at = (url: string, headers: Record<string, string> = {}) => new Request(url, { headers });

describe("a page of a tool", () => {
  it("is served under the server's address, with everything below it, while the tool waits", () =>
    serving({ serve: [visited()], publicUrl: `${ORIGIN}/` }, async ({ parley, fetch }) => {
      const { call, url } = await pageOf(await TestClient.connect(fetch));
      assert.match(url, new RegExp(`^${ORIGIN}/pages/[0-9a-f-]{36}$`));
      const response = await parley.fetch(at(`${url}/deep?x=1`));
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("x-mine"), "yes");
      assert.equal(response.headers.get("cache-control"), "no-store");
      assert.equal(response.headers.get("referrer-policy"), "same-origin");
      assert.equal(response.headers.get("x-frame-options"), "DENY");
      assert.match(await response.text(), /^hello at \/pages\/.*\/deep$/);
      assert.equal(await call.text(), "visited at /pages/…/deep");
      const late = await parley.fetch(at(url));
      assert.equal(late.status, 404);
      assert.match(
        await late.text(),
        /no longer available. Go back to the app in which you started, and start again/,
      );
    }));

  it("can have its own path, and other pages keep theirs", () =>
    serving({ serve: [visited({ path: "/shop/back" })], publicUrl: ORIGIN }, async (server) => {
      const client = await TestClient.connect(server.fetch);
      const [first, second] = [await pageOf(client), await pageOf(client)];
      assert.deepEqual([first.url, second.url], [`${ORIGIN}/shop/back`, `${ORIGIN}/shop/back`]);
      for (const { call } of [second, first]) {
        assert.equal((await server.parley.fetch(at(first.url))).status, 200);
        assert.equal(await call.text(), "visited at /shop/back");
      }
      assert.equal((await server.parley.fetch(at(first.url))).status, 404);
    }));

  it("is gone when the call is cancelled", () =>
    serving({ serve: [visited()], publicUrl: ORIGIN }, async ({ parley, fetch }) => {
      const client = await TestClient.connect(fetch);
      const { call, url } = await pageOf(client);
      await client.notify("notifications/cancelled", { requestId: call.id });
      assert.equal((await parley.fetch(at(url))).status, 404);
    }));

  it("that outlives its tool expires", () =>
    serving({ serve: [outlasting], publicUrl: ORIGIN }, async ({ parley, fetch, clock }) => {
      const url = await (await (await TestClient.connect(fetch)).call("outlasting")).text();
      clock.advance(999);
      assert.equal(await (await parley.fetch(at(url))).text(), "still here");
      clock.advance(1);
      assert.equal((await parley.fetch(at(url))).status, 404);
    }));

  it("that fails shows no reason, and tells the operator", () =>
    serving({ serve: [broken], publicUrl: ORIGIN }, async ({ parley, fetch, faults }) => {
      const url = await (await (await TestClient.connect(fetch)).call("broken")).text();
      const response = await parley.fetch(at(url));
      assert.equal(response.status, 500);
      assert.doesNotMatch(await response.text(), /secret/);
      assert.match(String(faults.pop()?.error), /secret details/);
    }));

  it("is served to the principal the tool runs for, and to nobody else", async () => {
    const principal = (request: Request) =>
      request.headers.get("cookie") ?? new Response("Who are you?", { status: 401 });
    const publicUrl = "https://tools.example/parley";
    await serving({ serve: [visited()], principal, publicUrl }, async ({ parley, fetch }) => {
      const alice = { cookie: "alice" };
      const client = await TestClient.connect(fetch, { headers: alice });
      const { call, url } = await pageOf(client);
      assert.ok(url.startsWith("https://tools.example/parley/pages/"));
      assert.equal((await parley.fetch(at(url))).status, 401);
      assert.equal((await parley.fetch(at(url, { cookie: "mallory" }))).status, 403);
      assert.equal((await parley.fetch(at(url, alice))).status, 200);
      assert.match(await call.text(), /^visited/);
    });
  });

  it("that is public is served to everybody", () =>
    serving(
      {
        serve: [visited({ open: true })],
        principal: (request) =>
          request.headers.get("cookie") ?? new Response(null, { status: 401 }),
        publicUrl: ORIGIN,
      },
      async ({ parley, fetch }) => {
        const client = await TestClient.connect(fetch, { headers: { cookie: "alice" } });
        const { call, url } = await pageOf(client);
        assert.equal((await parley.fetch(at(url))).status, 200);
        assert.match(await call.text(), /^visited/);
      },
    ));

  it("is refused if the server does not know its public address", () =>
    serving({ serve: [visited()] }, async ({ fetch }) => {
      const call = await (await TestClient.connect(fetch)).call("visited");
      assert.equal(
        await call.text(),
        "Cannot open a page: this server does not know the URL at which browsers reach it; start it with --public-url URL",
      );
    }));

  it("is refused at a port of another machine", () =>
    serving(
      { serve: [visited({ port: 4_000 })], publicUrl: "https://tools.example" },
      async ({ fetch }) => {
        const text = await (await (await TestClient.connect(fetch)).call("visited")).text();
        assert.match(
          text,
          /port 4000 would be on this server, but the browser is on another machine/,
        );
      },
    ));
});

describe("a page of a tool on stdio", () => {
  it("has its own port, which closes with the page", function* () {
    const { client } = yield* useStdio({ serve: [visited()] });
    client.initialize();
    const id = client.request("tools/call", { name: "visited" });
    const { params } = yield* until(
      client.find(({ method }) => method === "notifications/message"),
    );
    const url = params!.data as string;
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/pages\//);
    const strange = yield* until(fetch(new URL("/pages/other", url)));
    assert.equal(strange.status, 404);
    yield* until(strange.body!.cancel());
    const response = yield* until(fetch(url));
    assert.match(yield* until(response.text()), /^hello at/);
    yield* until(client.answerTo(id));
    const refused = yield* until(fetch(url).then((late) => late.text(), () => "refused"));
    assert.equal(refused, "refused");
  });

  it("reports that the configured port is taken", function* () {
    const taken = createServer().listen(0, "127.0.0.1");
    yield* until(once(taken, "listening"));
    const { port } = taken.address() as AddressInfo;
    const { client } = yield* useStdio({ serve: [visited({ port })] });
    client.initialize();
    const answer = yield* until(client.answerTo(client.request("tools/call", { name: "visited" })));
    assert.equal(
      (answer.result!.content as { text: string }[])[0]!.text,
      `Cannot open a page: port ${port} is in use; choose another port, or none`,
    );
    // The port is free again, so it is used.
    taken.close();
    yield* until(once(taken, "close"));
    client.request("tools/call", { name: "visited" });
    const { params } = yield* until(
      client.find(({ method }) => method === "notifications/message"),
    );
    assert.equal(new URL(params!.data as string).port, String(port));
  });

  it("refuses visitors who used another host name", function* () {
    const { client } = yield* useStdio({ serve: [visited()] });
    client.initialize();
    client.request("tools/call", { name: "visited" });
    const { params } = yield* until(
      client.find(({ method }) => method === "notifications/message"),
    );
    const response = yield* until(
      fetch(params!.data as string, { headers: { origin: "https://evil.example" } }),
    );
    assert.equal(response.status, 403);
    yield* until(response.body!.cancel());
  });

  it("leaves no port open when the client goes away", function* () {
    const served = yield* useStdio({ serve: [visited()] });
    served.client.initialize();
    served.client.request("tools/call", { name: "visited" });
    const { params } = yield* until(
      served.client.find(({ method }) => method === "notifications/message"),
    );
    served.client.end();
    yield* until(served.ended);
    yield* until(served.parley.close());
    const url = params!.data as string;
    assert.equal(yield* until(fetch(url).then(() => "open", () => "closed")), "closed");
  });
});

describe("ctx.server and ctx.principal", () => {
  const told = async ({ fetch }: TestServer, headers: Record<string, string> = {}) =>
    JSON.parse(await (await (await TestClient.connect(fetch, { headers })).call("where")).text());

  it("distinguish a server on loopback, one elsewhere, and one without an address", async () => {
    await serving({ serve: [where], publicUrl: ORIGIN }, async (server) => {
      const site = { local: true, url: ORIGIN, formPasswords: false, who: "" };
      assert.deepEqual(pick(await told(server)), site);
    });
    await serving({ serve: [where], publicUrl: "https://a.example/" }, async (server) => {
      const site = { local: false, url: "https://a.example", formPasswords: false, who: "" };
      assert.deepEqual(pick(await told(server)), site);
    });
    await serving({ serve: [where], formPasswords: true }, async (server) => {
      assert.deepEqual(pick(await told(server)), { local: false, formPasswords: true, who: "" });
    });
  });

  it("name the caller", () =>
    serving({ serve: [where], principal: () => "alice" }, async (server) => {
      assert.equal((await told(server)).who, "alice");
    }));

  it("are local on stdio, unless the same server is called over HTTP as well", function* () {
    const { client, parley } = yield* useStdio({ serve: [where] });
    client.initialize();
    const local = function* () {
      const answer = yield* until(client.answerTo(client.request("tools/call", { name: "where" })));
      return JSON.parse((answer.result!.content as { text: string }[])[0]!.text).local;
    };
    assert.equal(yield* local(), true);
    yield* until(parley.fetch(new Request(`${ORIGIN}/mcp`, { method: "POST" })));
    assert.equal(yield* local(), false);
  });

  function pick({ local, url, formPasswords, who }: Record<string, unknown>) {
    return { local, ...(url !== undefined && { url }), formPasswords, who };
  }
});

describe("a form that asks for a password", () => {
  const secretive = createMcpTool("secretive").description("Asks for a secret")
    .elicits({ secret: { response: z.object({ secret: z.string() }), sensitive: ["secret"] } })
    .execute(function* (_params, ctx) {
      const { action } = yield* ctx.elicit("secret", { message: "Psst?" });
      return action;
    });

  for (const options of [{}, { formPasswords: false }]) {
    it(`is not shown by default: ${JSON.stringify(options)}`, () =>
      serving({ serve: [secretive], ...options }, async ({ fetch }) => {
        const client = await TestClient.connect(fetch, { capabilities: ABLE });
        const text = await (await client.call("secretive")).text();
        assert.match(text, /this server does not allow passwords in forms; use a page, or start/);
        assert.doesNotMatch(text, /Psst/);
      }));
  }
});
