import assert from "node:assert/strict";
import { type Operation, until, withResolvers } from "effection";
import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import {
  type BlockedReason,
  BlockedRequestError,
  guardedFetch,
  type GuardedFetchOptions,
} from "../../../../tools/bluesky/net/guarded-fetch.ts";
import { directNetwork, type Network } from "../../../../tools/bluesky/net/network.ts";
import { certificateFor } from "../../../support/certificate.ts";
import { describe, it } from "../../../suite.ts";
import { useHost } from "./servers.ts";

const LOOPBACK = "127.0.0.1";
const PUBLIC = "93.184.215.14";

/** The real network, with fake DNS: one answer after the other, the last one for ever. */
function named(names: { [hostname: string]: string[][] }, ca?: string) {
  const asked: string[] = [];
  const direct = directNetwork(ca === undefined ? {} : { ca });
  const network: Network = {
    ...direct,
    resolve(hostname) {
      asked.push(hostname);
      const answers = names[hostname];
      if (!answers) return Promise.reject(new Error(`no such name: ${hostname}`));
      return Promise.resolve(answers.length > 1 ? answers.shift()! : answers[0]!);
    },
  };
  return { network, asked };
}

/** A network on which nothing may be sent. */
function silent(addresses: string[]) {
  const sent: string[] = [];
  const network: Network = {
    resolve: () => Promise.resolve(addresses),
    send({ url }) {
      sent.push(url);
      return Promise.resolve(new Response("sent"));
    },
  };
  return { network, sent };
}

async function blocked(promise: Promise<unknown>): Promise<[BlockedReason, string]> {
  const error = await promise.then(() => undefined, (thrown) => thrown);
  assert.ok(error instanceof BlockedRequestError, `${error}`);
  assert.match(error.message, /^Cannot request ".+": .+; .+/);
  return [error.reason, error.host];
}

function redirect(to: string, status = 302) {
  return (_: unknown, response: ServerResponse) =>
    void response.writeHead(status, { location: to }).end("moved");
}

/** Two hosts over http: a trusted one that redirects, and its target. */
function* useRedirect(more: GuardedFetchOptions = {}) {
  const [first, second] = [yield* useHost(), yield* useHost()];
  const { network, asked } = named({ "a.example": [[LOOPBACK]], "b.example": [[LOOPBACK]] });
  const [from, to] = [`http://a.example:${first.port}`, `http://b.example:${second.port}`];
  const fetch = guardedFetch({ network, trusted: [from, to], ...more });
  return { first, second, from, to, fetch, asked };
}

describe("guardedFetch()", () => {
  it("refuses unencrypted addresses and hosts outside the public internet", function* () {
    const cases: [string, string[], BlockedReason][] = [
      ["http://pds.example/", [PUBLIC], "protocol"],
      ["http://127.0.0.1/", [], "protocol"],
      ["https://127.0.0.1/", [], "address"],
      ["https://2130706433/", [], "address"],
      ["https://0x7f.1/", [], "address"],
      ["https://[::1]/", [], "address"],
      ["https://[::ffff:127.0.0.1]/", [], "address"],
      ["https://[::ffff:7f00:1]/", [], "address"],
      ["https://[fe80::1]/", [], "address"],
      ["https://169.254.169.254/latest/meta-data", [], "address"],
      ["https://localhost/", [PUBLIC], "address"],
      ["https://localhost./", [PUBLIC], "address"],
      ["https://foo.localhost/", [PUBLIC], "address"],
      ["https://intranet/", [PUBLIC], "address"],
      ["https://inner.example/", ["10.0.0.1"], "address"],
      ["https://inner.example/", ["::1"], "address"],
      ["https://inner.example/", ["fe80::1%eth0"], "address"],
      ["https://inner.example/", ["::ffff:169.254.169.254"], "address"],
      ["https://both.example/", [PUBLIC, "192.168.0.1"], "address"],
      ["https://nobody.example/", [], "address"],
      ["https://odd.example/", ["no address"], "address"],
    ];
    for (const [url, addresses, reason] of cases) {
      const { network, sent } = silent(addresses);
      const refused = yield* until(blocked(guardedFetch({ network })(url)));
      assert.deepEqual([refused, sent], [[reason, new URL(url).host], []], url);
    }
  });

  it("connects to the addresses that were checked", function* () {
    const addresses = [PUBLIC, "2606:4700:4700::1111"];
    const pinned: (readonly string[])[] = [];
    const network: Network = {
      resolve: () => Promise.resolve(addresses),
      send: (_, given) => (pinned.push(given), Promise.resolve(new Response("sent"))),
    };
    const fetch = guardedFetch({ network });
    for (const host of ["pds.example", "1.1.1.1", "[2606:4700:4700::1111]"]) {
      assert.equal(yield* until(fetch(`https://${host}/`).then((r) => r.text())), "sent");
    }
    assert.deepEqual(pinned, [addresses, ["1.1.1.1"], ["2606:4700:4700::1111"]]);
  });

  it("does not resolve again between the check and the connection", function* () {
    const certificate = certificateFor("pds.example");
    const host = yield* useHost(certificate);
    // The name resolves to something else from the second time on.
    const { network, asked } = named(
      { "pds.example": [[LOOPBACK], ["10.0.0.1"]] },
      certificate.cert,
    );
    const fetch = guardedFetch({ network, allows: (address) => address === LOOPBACK });
    const url = `https://pds.example:${host.port}/xrpc?a=b`;
    const response = yield* until(fetch(url, { method: "POST", body: "hello" }));
    assert.deepEqual([response.status, response.url], [200, url]);
    assert.equal(yield* until(response.text()), "here");
    const [seen] = host.seen;
    assert.deepEqual(
      [seen!.method, seen!.path, seen!.body, seen!.headers.host],
      ["POST", "/xrpc?a=b", "hello", `pds.example:${host.port}`],
    );
    assert.equal(seen!.headers["content-length"], "5");
    assert.deepEqual(asked, ["pds.example"]);
    assert.deepEqual(yield* until(blocked(fetch(url))), ["address", `pds.example:${host.port}`]);
    assert.equal(host.connections, 1);
  });

  it("checks the certificate against the name, not the address", function* () {
    const certificate = certificateFor("pds.example");
    const host = yield* useHost(certificate);
    const names = { "pds.example": [[LOOPBACK]], "other.example": [[LOOPBACK]] };
    const allows = () => true;
    const own = guardedFetch({ ...named(names, certificate.cert), allows });
    const strict = guardedFetch({ ...named(names), allows });
    yield* until(
      assert.rejects(own(`https://other.example:${host.port}/`), /altnames|certificate/i),
    );
    yield* until(assert.rejects(strict(`https://pds.example:${host.port}/`), /self.signed/i));
    assert.deepEqual(host.seen, []);
  });

  it("tries the next address if one cannot be reached", function* () {
    const host = yield* useHost();
    const { network } = named({ "pds.example": [["::1", LOOPBACK]] });
    const url = `http://pds.example:${host.port}`;
    const response = yield* until(guardedFetch({ network, trusted: [url] })(url));
    assert.equal(yield* until(response.text()), "here");
  });

  it("lets a trusted origin be anywhere, and nothing beside it", function* () {
    const host = yield* useHost();
    const { network } = named({ localhost: [[LOOPBACK]] });
    const origin = `http://localhost:${host.port}`;
    const fetch = guardedFetch({ network, trusted: [`${origin}/some/path`] });
    assert.equal(yield* until(fetch(`${origin}/x`).then((r) => r.text())), "here");
    for (
      const [url, reason] of [
        [`http://127.0.0.1:${host.port}/`, "protocol"],
        [`https://localhost:${host.port}/`, "address"],
        ["http://localhost:1/", "protocol"],
        [`http://localhost.:${host.port}/`, "protocol"],
      ] as const
    ) {
      assert.equal((yield* until(blocked(fetch(url))))[0], reason, url);
    }
    assert.equal(host.connections, 1);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`follows no ${status} with a body or with credentials`, function* () {
      const { first, second, from, to, fetch } = yield* useRedirect({ allows: () => true });
      // Not even to the same origin: it is not known who asks for that.
      for (const target of [to, "/elsewhere"]) {
        first.answer = redirect(target, status);
        for (
          const init of [
            { method: "POST", body: "secret" },
            { method: "POST" },
            { headers: { authorization: "Bearer secret" } },
            { headers: { cookie: "secret" } },
            { headers: { dpop: "secret" } },
          ]
        ) {
          const [reason, host] = yield* until(blocked(fetch(from, init)));
          assert.deepEqual([reason, host], ["redirect", new URL(from).host]);
        }
      }
      assert.equal(first.seen.length, 10);
      assert.equal(second.connections, 0);
    });
  }

  it("checks each redirect of a plain GET, and trusts none of them", function* () {
    const { first, second, from, to, fetch, asked } = yield* useRedirect();
    const cases: [string, BlockedReason][] = [
      // Trusted when it is requested directly, but not after a redirect.
      [to, "protocol"],
      [`http://127.0.0.1:${second.port}/`, "protocol"],
      [`https://127.0.0.1:${second.port}/`, "address"],
      [`https://localhost.:${second.port}/`, "address"],
      [`https://b.example:${second.port}/`, "address"],
      [`//b.example:${second.port}/`, "protocol"],
      ["file:///etc/passwd", "redirect"],
      ["http://[", "redirect"],
    ];
    for (const [target, reason] of cases) {
      first.answer = redirect(target);
      assert.equal((yield* until(blocked(fetch(from))))[0], reason, target);
    }
    assert.equal(second.connections, 0);
    assert.ok(asked.includes("b.example"), "a public name is resolved before it is refused");
  });

  it("does not trust the first origin again once a redirect has left it", function* () {
    const certificate = certificateFor("b.example");
    const [first, second] = [yield* useHost(), yield* useHost(certificate)];
    const names = { "a.example": [[LOOPBACK]], "b.example": [[LOOPBACK]] };
    const { network } = named(names, certificate.cert);
    const from = `http://a.example:${first.port}`;
    const fetch = guardedFetch({ network, trusted: [from], allows: () => true });
    first.answer = redirect(`https://b.example:${second.port}/`);
    second.answer = redirect(`${from}/inner`);
    const [reason] = yield* until(blocked(fetch(from)));
    assert.equal(reason, "protocol");
    assert.deepEqual(first.seen.map(({ path }) => path), ["/"]);
  });

  it("follows a plain GET to another host, with harmless headers only", function* () {
    const certificate = certificateFor("b.example");
    const [first, second] = [yield* useHost(), yield* useHost(certificate)];
    const names = { "a.example": [[LOOPBACK]], "b.example": [[LOOPBACK]] };
    const { network } = named(names, certificate.cert);
    const from = `http://a.example:${first.port}`;
    const fetch = guardedFetch({ network, trusted: [from], allows: () => true });
    const to = `https://b.example:${second.port}/there`;
    first.answer = redirect(to);
    const headers = { accept: "application/json", "x-api-key": "secret" };
    const response = yield* until(fetch(from, { headers }));
    assert.deepEqual([yield* until(response.text()), response.url], ["here", to]);
    assert.equal(first.seen[0]!.headers["x-api-key"], "secret");
    assert.equal(second.seen[0]!.headers["x-api-key"], undefined);
    assert.equal(second.seen[0]!.headers.accept, "application/json");
  });

  it("follows three redirects, and no fourth", function* () {
    const { first, from, fetch } = yield* useRedirect();
    first.answer = ({ path }, response) => {
      const left = Number(path.slice(1));
      if (left === 0) return void response.end("arrived");
      redirect(`/${left - 1}`)(undefined, response);
    };
    assert.equal(yield* until(fetch(`${from}/3`).then((r) => r.text())), "arrived");
    assert.equal((yield* until(blocked(fetch(`${from}/4`))))[0], "redirect");
  });

  it("returns a redirect, or fails, if the request says so", function* () {
    const { first, second, from, to, fetch } = yield* useRedirect();
    first.answer = redirect(to);
    const response = yield* until(fetch(from, { redirect: "manual", method: "POST", body: "x" }));
    assert.deepEqual([response.status, response.headers.get("location")], [302, to]);
    yield* until(response.body!.cancel());
    const refused = yield* until(blocked(fetch(from, { redirect: "error" })));
    assert.equal(refused[0], "redirect");
    assert.equal(second.connections, 0);
  });
});

/** One trusted host, to test how requests and responses are transferred. */
function* useOne() {
  const host = yield* useHost();
  const { network } = named({ "pds.example": [[LOOPBACK]] });
  const url = `http://pds.example:${host.port}`;
  return { host, url, fetch: guardedFetch({ network, trusted: [url] }) };
}

/** Waits until a server lost the connection of a response. */
function closed(): { watch: (response: ServerResponse) => void; gone: Operation<void> } {
  const { operation, resolve } = withResolvers<void>();
  return { watch: (response) => void response.on("close", () => resolve()), gone: operation };
}

describe("directNetwork()", () => {
  it("passes status, headers and bytes unchanged", function* () {
    const { host, url, fetch } = yield* useOne();
    host.answer = (_, response) =>
      void response.writeHead(
        418,
        "Teapot",
        [
          ["x-one", "1"],
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
        ].flat(),
      ).end(new Uint8Array([0, 255, 10]));
    const response = yield* until(fetch(url, { method: "PUT", body: new Uint8Array([1, 0, 2]) }));
    assert.deepEqual([response.status, response.headers.get("x-one")], [418, "1"]);
    assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
    assert.deepEqual([...new Uint8Array(yield* until(response.arrayBuffer()))], [0, 255, 10]);
    assert.equal(host.seen[0]!.body, "\u0001\u0000\u0002");
  });

  it("sends the host name of the URL, whatever header is given", function* () {
    const { host, url, fetch } = yield* useOne();
    yield* until(fetch(url, { headers: { host: "inner.example" } }).then((r) => r.text()));
    assert.equal(host.seen[0]!.headers.host, `pds.example:${host.port}`);
  });

  it("handles responses without a body", function* () {
    const { host, url, fetch } = yield* useOne();
    for (const [method, status] of [["HEAD", 200], ["GET", 204], ["GET", 304]] as const) {
      host.answer = (_, response) => void response.writeHead(status).end();
      const response = yield* until(fetch(url, { method }));
      assert.deepEqual([response.status, yield* until(response.text())], [status, ""]);
    }
  });

  it("unpacks gzip, and throws if it is damaged", function* () {
    const { host, url, fetch } = yield* useOne();
    const packed = gzipSync("a long text ".repeat(1_000));
    const headers = { "content-encoding": "gzip" };
    host.answer = (_, response) => void response.writeHead(200, headers).end(packed);
    const response = yield* until(fetch(url));
    assert.equal((yield* until(response.text())).length, 12_000);
    assert.equal(response.headers.get("content-encoding"), null);
    assert.equal(host.seen[0]!.headers["accept-encoding"], "gzip");
    host.answer = (_, response) =>
      void response.writeHead(200, headers).end(packed.subarray(0, packed.length - 12));
    yield* until(assert.rejects(fetch(url).then((r) => r.text())));
  });

  it("throws if a body is cut off", function* () {
    const { host, url, fetch } = yield* useOne();
    host.answer = (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("abc", () => response.destroy());
    };
    yield* until(assert.rejects(fetch(url).then((r) => r.text())));
  });

  it("throws if the connection breaks, or a name is unknown", function* () {
    const { host, url, fetch } = yield* useOne();
    host.answer = (_, response) => void response.destroy();
    yield* until(assert.rejects(fetch(url)));
    yield* until(assert.rejects(fetch("https://unknown.example"), /no such name/));
  });

  it("closes the connection when it is aborted before the response", function* () {
    const { host, url, fetch } = yield* useOne();
    const { watch, gone } = closed();
    const abort = new AbortController();
    const reason = new Error("not any more");
    host.answer = (_, response) => {
      watch(response);
      abort.abort(reason);
    };
    yield* until(assert.rejects(fetch(url, { signal: abort.signal }), reason));
    yield* gone;
    yield* until(assert.rejects(fetch(url, { signal: abort.signal }), reason));
    assert.equal(host.seen.length, 1);
  });

  it("closes the connection when it is aborted in the middle of the body", function* () {
    const { host, url, fetch } = yield* useOne();
    const { watch, gone } = closed();
    const abort = new AbortController();
    host.answer = (_, response) => {
      watch(response);
      response.write("begin");
    };
    const response = yield* until(fetch(url, { signal: abort.signal }));
    const reader = response.body!.getReader();
    yield* until(reader.read());
    const rest = reader.read();
    abort.abort(new Error("not any more"));
    yield* until(assert.rejects(rest, /not any more/));
    yield* gone;
  });

  it("closes the connection when the rest of the body is not read", function* () {
    const { host, url, fetch } = yield* useOne();
    const { watch, gone } = closed();
    host.answer = (_, response) => {
      watch(response);
      response.write("begin");
    };
    const response = yield* until(fetch(url));
    yield* until(response.body!.cancel());
    yield* gone;
  });

  it("does not wait for a lookup that never ends", function* () {
    const abort = new AbortController();
    const network = { ...directNetwork(), resolve: () => new Promise<never>(() => {}) };
    const asking = guardedFetch({ network })("https://pds.example", { signal: abort.signal });
    abort.abort(new Error("too late"));
    yield* until(assert.rejects(asking, /too late/));
  });
});
