import assert from "node:assert/strict";
import { createMcpPrompt, createMcpResource } from "parley-mcp";
import { LEGACY_VERSIONS } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import { ORIGIN } from "../../support/exchange.ts";
import { initialize, TestClient, textOf } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { ask, echo } from "../../support/tools.ts";

const greeting = createMcpPrompt("greeting").description("Greets").execute(function* () {
  return "Hello";
});
const note = createMcpResource("note").uri("notes://{name}")
  .completes({
    *name() {
      return ["today"];
    },
  })
  .read(function* () {
    return "text";
  });

describe("initialize", () => {
  it("agrees to every legacy revision, and offers the newest for any other", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      for (const version of LEGACY_VERSIONS) await TestClient.connect(fetch, { version });
      for (const version of ["2023-01-01", "2026-07-28", "", "latest"]) {
        const response = await new TestClient(fetch).post(
          initialize({ version: version as never }),
        );
        assert.equal((await response.json()).result.protocolVersion, "2025-11-25");
      }
    }));

  it("gives every client its own session id, which nobody can guess", () =>
    serving({}, async ({ fetch }) => {
      const ids = new Set<string>();
      for (let i = 0; i < 20; i++) ids.add((await TestClient.connect(fetch)).sessionId!);
      assert.equal(ids.size, 20);
      for (const id of ids) assert.match(id, /^[\x21-\x7e]{32,}$/);
    }));

  it("describes the server and its capabilities", () =>
    serving({
      serve: [echo, greeting, note],
      name: "larder",
      version: "3.2.1",
      info: { title: "The larder", icons: [{ src: "https://a.example/i.png" }] },
      instructions: "Look before you buy.",
    }, async ({ fetch }) => {
      const { result } = await (await new TestClient(fetch).post(initialize())).json();
      assert.deepEqual(result, {
        protocolVersion: "2025-11-25",
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          completions: {},
          logging: {},
        },
        serverInfo: {
          name: "larder",
          version: "3.2.1",
          title: "The larder",
          icons: [{ src: "https://a.example/i.png" }],
        },
        instructions: "Look before you buy.",
      });
    }));

  it("announces no capability that the server lacks", () =>
    serving({}, async ({ fetch }) => {
      const { result } = await (await new TestClient(fetch).post(initialize())).json();
      assert.deepEqual(result.capabilities, { logging: {} });
    }));

  it("refuses a client that does not identify itself, and keeps no session for it", () =>
    serving({}, async ({ fetch, parley }) => {
      const { params } = initialize();
      for (const missing of ["protocolVersion", "capabilities", "clientInfo"]) {
        for (const value of [undefined, null, 5, []]) {
          const message = { ...initialize(), params: { ...params, [missing]: value } };
          const response = await new TestClient(fetch).post(message);
          assert.equal((await response.json()).error.code, -32602);
          assert.equal(response.headers.get("mcp-session-id"), null);
        }
      }
      assert.equal(parley.counts.clientSessions, 0);
    }));

  it("keeps no more of what a client sends than it needs", () =>
    serving({ serve: [ask] }, async ({ fetch, parley }) => {
      const capabilities = { experimental: { long: { text: "x".repeat(20_000) } } };
      const response = await new TestClient(fetch).post(initialize({ capabilities }));
      assert.equal((await response.json()).error.code, -32602);
      assert.equal(parley.counts.clientSessions, 0);
      const client = await TestClient.connect(fetch, { name: "n".repeat(100_000) });
      const { result } = await client.request("tools/call", { name: "ask" });
      assert.ok(textOf(result).length < 1_000);
    }));

  it("starts another session when it is sent again, and leaves the first alone", () =>
    serving({}, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const again = await client.post(initialize());
      assert.notEqual(again.headers.get("mcp-session-id"), client.sessionId);
      assert.equal(parley.counts.clientSessions, 2);
      assert.deepEqual((await client.request("ping")).result, {});
    }));

  it("ignores a version header", () =>
    serving({}, async ({ fetch }) => {
      const headers = { "mcp-protocol-version": "2025-11-25", "mcp-method": "initialize" };
      assert.equal((await new TestClient(fetch).post(initialize(), headers)).status, 200);
    }));
});

describe("a client session", () => {
  it("must be named and must exist, for every method that listens or ends", () =>
    serving({}, async ({ fetch }) => {
      const nobody = new TestClient(fetch);
      assert.equal((await nobody.listen()).status, 405);
      assert.equal((await nobody.end()).status, 405);
      nobody.sessionId = "never-issued";
      assert.equal((await nobody.start("ping")).status, 404);
      assert.equal((await nobody.notify("notifications/initialized")).status, 404);
      assert.equal((await nobody.listen()).status, 404);
      assert.equal((await nobody.end()).status, 404);
    }));

  it("is gone after DELETE", () =>
    serving({}, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      assert.equal((await client.end()).status, 204);
      assert.equal(parley.counts.clientSessions, 0);
      assert.equal((await client.start("ping")).status, 404);
      assert.equal((await client.end()).status, 404);
    }));

  it("accepts every known version header, and refuses others", () =>
    serving({}, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const version of LEGACY_VERSIONS) {
        const headers = { "mcp-protocol-version": version };
        const response = await client.post({ jsonrpc: "2.0", id: 1, method: "ping" }, headers);
        assert.equal(response.status, 200);
      }
      for (const version of ["1999-01-01", "x"]) {
        const headers = { "mcp-protocol-version": version, accept: "text/event-stream" };
        const response = await client.post({ jsonrpc: "2.0", id: 1, method: "ping" }, {
          "mcp-protocol-version": version,
        });
        assert.equal(response.status, 400);
        assert.equal((await client.send("GET", headers)).status, 400);
        assert.equal((await client.send("DELETE", headers)).status, 400);
      }
    }));
});

describe("GET /healthz", () => {
  it("reports whether the server is up, or closing", async () => {
    await serving({}, async ({ fetch, parley }) => {
      const healthy = await fetch(new Request(`${ORIGIN}/healthz`));
      assert.equal(healthy.status, 200);
      assert.deepEqual(await healthy.json(), { status: "ok" });
      assert.equal((await fetch(new Request(`${ORIGIN}/healthz`, { method: "HEAD" }))).status, 200);
      assert.equal((await fetch(new Request(`${ORIGIN}/healthz`, { method: "POST" }))).status, 405);
      await parley.close();
      assert.equal((await fetch(new Request(`${ORIGIN}/healthz`))).status, 503);
      assert.equal((await new TestClient(fetch).post(initialize())).status, 503);
    });
  });
});
