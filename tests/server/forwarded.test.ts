/** Requests through a proxy, which may come from anywhere. */
import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createMcpTool, createParley, type ParleyOptions, toNodeHandler } from "parley-mcp";
import { listen } from "../../src/platform/listen.ts";
import { HeaderLists, readHeaders } from "../../src/server/forwarded.ts";
import { describe, it } from "../suite.ts";

/** Returns whether the tool considers its caller local. */
const where = createMcpTool("where").description("Tells where it runs")
  .execute(function* (_params, ctx) {
    return { local: ctx.server.local, url: ctx.server.url ?? null };
  });

const BODY = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: "where",
    arguments: {},
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "where",
};

type Headers = Record<string, string>;

/** A refusal's status, or the tool's text. */
function told(status: number, body: string) {
  if (status !== 200) return status;
  const { result } = JSON.parse(body);
  return JSON.parse(result.content[0].text) as { local: boolean; url: string | null };
}

const LOCAL = { local: true, url: "http://127.0.0.1:7411" };
const EXPOSED = { local: false, url: null };

/** A server on this machine, and its response to a request from `peer` with these headers. */
async function serving(
  options: ParleyOptions,
  body: (call: (headers?: Headers, peer?: string) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const parley = createParley({ serve: [where], publicUrl: "http://127.0.0.1:7411", ...options });
  try {
    await body(async (headers = {}, peer) => {
      const request = new Request("http://127.0.0.1:7411/mcp", {
        method: "POST",
        headers: { ...HEADERS, host: "127.0.0.1", ...headers },
        body: BODY,
      });
      const connection = peer === undefined ? undefined : { remoteAddr: { hostname: peer } };
      const response = await parley.fetch(request, connection);
      return told(response.status, await response.text());
    });
  } finally {
    await parley.close();
  }
}

const FORWARDED: Headers[] = [
  { forwarded: "for=192.0.2.1" },
  { "x-forwarded-for": "192.0.2.1" },
  { "x-forwarded-for": "127.0.0.1" },
  { "x-forwarded-host": "localhost" },
  { "x-forwarded-proto": "https" },
  { "x-forwarded-port": "443" },
  { "x-forwarded-server": "proxy" },
  { "x-forwarded-prefix": "/tools" },
  { "x-forwarded-by": "192.0.2.1" },
  { "x-forwarded-scheme": "https" },
  { "x-forwarded-ssl": "on" },
  { "x-forwarded-user": "ann" },
  { "x-forwarded-uri": "/mcp" },
  { "x-forwarded-path": "/mcp" },
  { "x-forwarded-method": "POST" },
  { "x-forwarded-protocol": "https" },
  { "x-forwarded-proto-version": "HTTP/2" },
  { "x-forwarded-client-cert": "Hash=0" },
  { "X-Forwarded-Ssl": "on" },
  { "X-Forwarded-Whatever": "anything" },
  { "x-forwarded": "for=192.0.2.1" },
  { "x-forwarded-": "" },
  { via: "1.1 proxy" },
  { "x-real-ip": "192.0.2.1" },
];

describe("a request through an untrusted proxy", () => {
  it("is refused under a name that is reserved for callers on this machine", () =>
    serving({}, async (call) => {
      for (const headers of FORWARDED) {
        for (const host of ["127.0.0.1", "localhost:7411", "[::1]"]) {
          assert.equal(await call({ ...headers, host }), 403, JSON.stringify(headers));
        }
      }
      // A refused request changes nothing for direct callers.
      assert.deepEqual(await call(), LOCAL);
    }));

  it("is accepted under an allowed name, and no later caller counts as local", () =>
    serving({ allowHosts: ["tools.example.com"] }, async (call) => {
      assert.deepEqual(await call(), LOCAL);
      const host = "tools.example.com";
      assert.deepEqual(await call({ host, "x-forwarded-for": "127.0.0.1" }), EXPOSED);
      // Remote callers and this machine's own callers cannot be told apart without names.
      assert.deepEqual(await call(), EXPOSED);
    }));

  it("is noticed by an allowed name alone, if the proxy adds no header", async () => {
    for (const allowHosts of [["tools.example.com"], ["*"]]) {
      await serving({ allowHosts }, async (call) => {
        assert.deepEqual(await call(), LOCAL);
        assert.deepEqual(await call({ host: "tools.example.com" }), EXPOSED);
        assert.deepEqual(await call(), EXPOSED);
      });
    }
  });

  it("is judged by its real Host header, not by what it says of the name", () =>
    serving({ allowHosts: ["tools.example.com"] }, async (call) => {
      assert.equal(await call({ "x-forwarded-host": "tools.example.com" }), 403);
      assert.equal(await call({ forwarded: "host=tools.example.com" }), 403);
    }));

  it("keeps a public address public", () =>
    serving({ publicUrl: "https://tools.example.com" }, async (call) => {
      const headers = { host: "tools.example.com", "x-forwarded-for": "192.0.2.1" };
      assert.deepEqual(await call(headers), { local: false, url: "https://tools.example.com" });
    }));
});

describe("a request through a trusted proxy", () => {
  const trusting = { trustProxy: ["10.0.0.0/8", "127.0.0.1"] };
  const PROXY = "10.1.2.3";

  it("comes from the caller that the proxy names", () =>
    serving(trusting, async (call) => {
      for (
        const local of [
          { "x-forwarded-for": "127.0.0.1" },
          { "x-forwarded-for": "203.0.113.9, 127.0.0.2:4711, 10.9.9.9" },
          { forwarded: 'for="[::1]:80";host=localhost;proto=http' },
          { forwarded: "for=203.0.113.9, For=127.0.0.5" },
        ]
      ) assert.deepEqual(await call(local, PROXY), LOCAL, JSON.stringify(local));
    }));

  it("never counts as local if its client is elsewhere or unknown", async () => {
    for (
      const elsewhere of [
        { "x-forwarded-for": "203.0.113.9" },
        { "x-forwarded-for": "127.0.0.1, 203.0.113.9" },
        { "x-forwarded-for": "127.0.0.1", forwarded: "for=203.0.113.9" },
        { "x-forwarded-for": "unknown" },
        { forwarded: "for=_hidden" },
        { "x-forwarded-proto": "https" },
        { "x-real-ip": "127.0.0.1" },
      ] as Headers[]
    ) {
      await serving(trusting, async (call) => {
        assert.deepEqual(await call(elsewhere, PROXY), EXPOSED, JSON.stringify(elsewhere));
      });
    }
  });

  it("must name an allowed host, if it names one", () =>
    serving({ ...trusting, allowHosts: ["tools.example.com"] }, async (call) => {
      const client = { "x-forwarded-for": "203.0.113.9" };
      assert.deepEqual(
        await call({ ...client, "x-forwarded-host": "tools.example.com" }, PROXY),
        EXPOSED,
      );
      for (
        const named of [
          { "x-forwarded-host": "evil.example" },
          { "x-forwarded-host": "localhost, evil.example" },
          { forwarded: 'host="evil.example"' },
          { "x-forwarded-host": "localhost", forwarded: "host=evil.example" },
        ] as Headers[]
      ) assert.equal(await call({ ...client, ...named }, PROXY), 403, JSON.stringify(named));
    }));

  it("is not trusted from another address, or from an unknown one", () =>
    serving(trusting, async (call) => {
      for (const peer of ["11.1.2.3", "::1", undefined]) {
        assert.equal(await call({ "x-forwarded-for": "127.0.0.1" }, peer), 403, `${peer}`);
      }
      assert.deepEqual(await call({ "x-forwarded-for": "127.0.0.1" }, "::ffff:10.1.2.3"), LOCAL);
    }));

  it("must be configured as an address or a range", () => {
    for (const trustProxy of [["proxy.example"], ["10.0.0.0/8", "*"], [""]]) {
      assert.throws(() => createParley({ trustProxy }), /Cannot trust proxy/);
    }
  });
});

/** A request as a proxy sends it; `fetch` would set the Host header itself. */
async function throughSocket(port: number, headers: Headers) {
  const sent = httpRequest({
    port,
    host: "127.0.0.1",
    path: "/mcp",
    method: "POST",
    headers: { ...HEADERS, host: "127.0.0.1", ...headers },
  });
  sent.end(BODY);
  const [response] = await once(sent, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return told(response.statusCode, body);
}

describe("the peer's address", () => {
  const local = { "x-forwarded-for": "127.0.0.1" };

  /**
   * Calls through a socket, with a server that trusts this machine's proxies, and one that does
   * not.
   */
  async function check(
    serve: (parley: ReturnType<typeof createParley>) => Promise<[number, () => Promise<unknown>]>,
  ) {
    for (const [trustProxy, expected] of [[["127.0.0.0/8"], LOCAL], [["10.0.0.0/8"], 403]]) {
      const publicUrl = LOCAL.url;
      const parley = createParley({
        serve: [where],
        publicUrl,
        trustProxy: trustProxy as string[],
      });
      const [port, stop] = await serve(parley);
      try {
        assert.deepEqual(await throughSocket(port, local), expected);
      } finally {
        await parley.close();
        await stop();
      }
    }
  }

  it("is passed on by this runtime", () =>
    check(async ({ fetch }) => {
      const { port, stop } = await listen(fetch, { port: 0, hostname: "127.0.0.1" });
      return [port, stop];
    }));

  it("is passed on by node:http", () =>
    check(async ({ fetch }) => {
      const server = createServer(toNodeHandler(fetch)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const stop = () => {
        server.closeAllConnections();
        return new Promise((resolve) => server.close(resolve));
      };
      return [port, stop];
    }));
});

describe("readHeaders()", () => {
  /** What is read with and without Deno's lists. `lists` has already read enough to be trusted. */
  function both(headers: globalThis.Headers) {
    const lists = new HeaderLists();
    for (let n = 0; n < 20; n++) lists.read(new Headers({ accept: "a/b" }));
    return [readHeaders(headers), readHeaders(headers, lists)];
  }

  it("finds every header that only proxies add", () => {
    for (const headers of FORWARDED) {
      for (const read of both(new Headers({ accept: "a/b", ...headers, "z-last": "1" }))) {
        assert.equal(read.isForwarded, true, JSON.stringify(headers));
      }
    }
    const like = { "x-forward": "1", "forwarded-for": "1", "via-proxy": "1", "x-real-ip-2": "1" };
    for (const read of both(new Headers(like))) assert.equal(read.isForwarded, false);
  });

  it("reads what Headers.get returns, also if a header is repeated", () => {
    const headers = new Headers();
    for (
      const [name, value] of [
        ["Host", "localhost"],
        ["ORIGIN", "http://localhost"],
        ["Accept", "a/b"],
        ["accept", "c/d"],
        ["ACCEPT", ""],
        ["Content-Type", "text/plain"],
        ["Content-Length", "12"],
        ["Mcp-Session-Id", "s"],
        ["Mcp-Protocol-Version", "v"],
        ["Mcp-Method", "m"],
        ["Mcp-Name", "n"],
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
      ] as const
    ) headers.append(name, value);
    for (const read of both(headers)) {
      const { all: _, isForwarded, ...values } = read;
      assert.equal(isForwarded, false);
      assert.deepEqual(values, {
        host: "localhost",
        origin: "http://localhost",
        accept: headers.get("accept"),
        contentType: "text/plain",
        contentLength: "12",
        session: "s",
        version: "v",
        method: "m",
        name: "n",
      });
    }
    for (const { host, name } of both(new Headers())) assert.deepEqual([host, name], [null, null]);
  });

  it("does not use lists that differ from the headers", () => {
    const lists = new HeaderLists();
    const more = new Headers({ accept: "a/b" });
    const withOneMore = Object.assign(more, {
      *[Symbol.iterator]() {
        yield* [["accept", "a/b"], ["x-forwarded-for", "192.0.2.1"]];
      },
    });
    assert.equal(lists.read(withOneMore), false);
    assert.equal(lists.read(new Headers({ accept: "a/b" })), false);
    const empty = new HeaderLists();
    const none = Object.assign(new Headers({ accept: "a/b" }), {
      *[Symbol.iterator]() {},
    });
    assert.equal(empty.read(none), false);
  });

  it("finds the headers of a proxy in requests from a socket, early and late", async () => {
    const parley = createParley({ serve: [where], publicUrl: LOCAL.url });
    const { port, stop } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
    try {
      for (let round = 0; round < 2; round++) {
        for (const headers of FORWARDED) {
          assert.equal(await throughSocket(port, headers), 403, JSON.stringify(headers));
          assert.deepEqual(await throughSocket(port, {}), LOCAL);
        }
      }
    } finally {
      await parley.close();
      await stop();
    }
  });
});

describe("HeaderLists", () => {
  it.when("Deno" in globalThis)("reads the lists of this version of Deno", () => {
    const lists = new HeaderLists();
    for (let n = 0; n < 20; n++) {
      assert.equal(lists.read(new Headers([["A", "1"], ["b", "2"], ["a", "3"]])), true);
      assert.deepEqual(lists.names, ["a", "b", "a"]);
    }
  });
});
