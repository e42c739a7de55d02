import assert from "node:assert/strict";
import { describe, it } from "../../suite.ts";
import { ORIGIN } from "../../support/exchange.ts";
import { initialize, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { echo } from "../../support/tools.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

describe("an HTTP request", () => {
  it("with another content type is refused with 415", () =>
    serving({}, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const type of ["text/plain", "application/jsonp", "", "multipart/form-data"]) {
        assert.equal((await client.post(ping, { "content-type": type })).status, 415, type);
      }
      for (const type of ["application/json; charset=utf-8", "APPLICATION/JSON"]) {
        assert.equal((await client.post(ping, { "content-type": type })).status, 200, type);
      }
    }));

  it("that accepts neither response type is refused with 406", () =>
    serving({}, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const accept of ["application/json", "text/event-stream", "text/html", ""]) {
        assert.equal((await client.post(ping, { accept })).status, 406, accept);
      }
      for (const accept of ["*/*", "text/event-stream,application/json;q=0.9"]) {
        assert.equal((await client.post(ping, { accept })).status, 200, accept);
      }
      assert.equal((await client.send("GET", { accept: "application/json" })).status, 406);
    }));

  it("of another method or to another path is refused", () =>
    serving({}, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const method of ["PUT", "PATCH", "HEAD"]) {
        const response = await client.send(method);
        assert.equal(response.status, 405, method);
        assert.match(response.headers.get("allow")!, /POST/);
      }
      for (const path of ["/", "/mcp/", "/MCP", "/sse", "/messages", "//mcp"]) {
        const elsewhere = new TestClient(fetch, { url: `${ORIGIN}${path}` });
        assert.equal((await elsewhere.post(ping)).status, 404, path);
      }
    }));

  it("is served under another path if that is configured", () =>
    serving({ path: "/tools/mcp" }, async ({ fetch }) => {
      const url = `${ORIGIN}/tools/mcp`;
      assert.equal((await new TestClient(fetch, { url }).post(initialize())).status, 200);
      assert.equal((await new TestClient(fetch).post(initialize())).status, 404);
    }));

  it("with a foreign Host or Origin is refused with 403", () =>
    serving({}, async ({ fetch }) => {
      for (const headers of [{ host: "evil.example" }, { origin: "http://evil.example" }]) {
        const stranger = new TestClient(fetch, { headers: headers as Record<string, string> });
        assert.equal((await stranger.post(initialize())).status, 403);
        for (const method of ["GET", "DELETE", "OPTIONS"]) {
          const response = await stranger.send(method, { accept: "text/event-stream" });
          assert.equal(response.status, 403);
          assert.equal(response.headers.get("access-control-allow-origin"), null);
        }
      }
    }));

  it("from an allowed page gets CORS headers, before and after", () =>
    serving({ serve: [echo], allowOrigins: ["https://app.example"] }, async ({ fetch }) => {
      const origin = "https://app.example";
      const page = new TestClient(fetch, { headers: { origin } });
      const preflight = await page.send("OPTIONS", {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,mcp-session-id",
      });
      assert.equal(preflight.status, 204);
      const allowed = preflight.headers.get("access-control-allow-headers")!;
      for (const name of ["content-type", "mcp-session-id", "last-event-id", "authorization"]) {
        assert.ok(allowed.split(", ").includes(name), name);
      }
      assert.match(preflight.headers.get("access-control-allow-methods")!, /DELETE/);

      const response = await page.post(initialize());
      assert.equal(response.headers.get("access-control-allow-origin"), origin);
      assert.match(response.headers.get("vary")!, /Origin/);
      assert.match(response.headers.get("access-control-expose-headers")!, /mcp-session-id/);
      assert.match(response.headers.get("access-control-expose-headers")!, /www-authenticate/);
      page.sessionId = response.headers.get("mcp-session-id")!;
      const stream = await page.listen();
      assert.equal(stream.response.headers.get("access-control-allow-origin"), origin);
      assert.equal((await stream.frame())?.id, "0.0");
      await stream.leave();
    }));

  it("larger than the limit is refused with 413, with and without a length", () =>
    serving({ limits: { maxBody: 1_000 } }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const fits = JSON.stringify({ ...ping, params: { pad: "" } });
      const pad = (size: number) => fits.replace('""', `"${"x".repeat(size - fits.length)}"`);
      assert.equal((await client.post(pad(1_000))).status, 200);
      assert.equal((await client.post(pad(1_001))).status, 413);
      const headers = {
        "content-type": "application/json",
        accept: "*/*",
        "content-length": "1001",
      };
      const request = new Request(`${ORIGIN}/mcp`, { method: "POST", headers, body: "{}" });
      assert.equal((await parley.fetch(request)).status, 413);
    }));

  it("whose body never ends is refused with 408", () =>
    serving({ limits: { bodyTimeout: 5_000 } }, async ({ parley, clock }) => {
      let cancelled = false;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"jsonrpc":')),
        cancel: () => void (cancelled = true),
      });
      const headers = { "content-type": "application/json", accept: "*/*" };
      const init = { method: "POST", headers, body, duplex: "half" };
      const response = parley.fetch(new Request(`${ORIGIN}/mcp`, init as RequestInit));
      assert.equal(clock.timers, 1);
      clock.advance(5_000);
      assert.equal((await response).status, 408);
      assert.equal(cancelled, true);
    }));
});

describe("principal()", () => {
  it("may refuse with its own response, whose headers may be immutable", () =>
    serving({
      principal: (request) =>
        request.headers.get("authorization") ?? Response.redirect("http://localhost/login", 307),
    }, async ({ parley }) => {
      const page = new TestClient(parley.fetch, { headers: { origin: "http://localhost" } });
      const response = await page.post(initialize());
      assert.equal(response.status, 307);
      assert.equal(response.headers.get("location"), "http://localhost/login");
    }));

  it("that throws is a fault of the server, and its stack is not sent", () =>
    serving({
      principal() {
        throw new Error("secret details");
      },
    }, async ({ fetch, faults }) => {
      const response = await new TestClient(fetch).post(initialize());
      assert.equal(response.status, 500);
      assert.doesNotMatch(await response.text(), /secret|\.ts/);
      assert.equal(faults.splice(0).length, 1);
    }));
});
