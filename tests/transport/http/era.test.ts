import assert from "node:assert/strict";
import { isModern as isModernRequest } from "../../../src/server/eras.ts";
import { readHeaders } from "../../../src/server/forwarded.ts";
import { createMcpTool } from "parley-mcp";
import { initialize, TestClient } from "../../support/legacy/client.ts";
import { TestClient as ModernClient, textOf, VERSION } from "../../support/modern/client.ts";
import { serving as servingModern } from "../../support/modern/server.ts";
import { serving } from "../../support/legacy/server.ts";
import { describe, it } from "../../suite.ts";

const META = { "io.modelcontextprotocol/protocolVersion": VERSION };

function request(params?: object): object {
  return { jsonrpc: "2.0", id: 1, method: "tools/list", ...(params && { params }) };
}

describe("isModern()", () => {
  const isModern = (headers: Headers, body: unknown) => isModernRequest(readHeaders(headers), body);
  const versioned = (version: string) => new Headers({ "mcp-protocol-version": version });

  it("is true for modern metadata, whatever the header says", () => {
    const body = request({ _meta: META });
    for (const headers of [new Headers(), versioned("2025-11-25"), versioned(VERSION)]) {
      assert.equal(isModern(headers, body), true);
    }
  });

  it("is true for a header that names no legacy revision", () => {
    for (const version of [VERSION, "2099-01-01", "nonsense", ""]) {
      for (const body of [request(), request({ _meta: {} }), [], null, 1]) {
        assert.equal(isModern(versioned(version), body), true);
      }
    }
  });

  it("is false for everything else", () => {
    const headers = [
      new Headers(),
      ...["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"].map(versioned),
    ];
    const bodies = [initialize(), request(), request({ _meta: { progressToken: 1 } }), [], "x"];
    for (const header of headers) {
      for (const body of bodies) assert.equal(isModern(header, body), false);
    }
  });
});

describe("one endpoint", () => {
  const who = createMcpTool("who").description("Says who calls").execute(function* (_params, ctx) {
    const { name, protocolVersion } = ctx.client;
    return `${name} ${protocolVersion} ${JSON.stringify(ctx.trace)}`;
  });
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" };

  it("serves a legacy session and modern requests side by side", async () => {
    await serving({ serve: [who] }, async ({ parley, fetch }) => {
      const legacy = await TestClient.connect(fetch);
      const modern = new ModernClient(parley.fetch);
      for (let times = 0; times < 3; times++) {
        assert.equal(await (await legacy.call("who")).text(), "test client 2025-11-25 {}");
        assert.equal(textOf(await modern.call("who")), `test client ${VERSION} {}`);
      }
      // A session id does not make a modern request a legacy one.
      const headers = { "mcp-session-id": legacy.sessionId! };
      const answer = await modern.request("ping", {}, { headers });
      assert.equal(answer.error.code, -32601);
      assert.deepEqual((await legacy.request("ping")).result, {});
      assert.equal(parley.counts.clientSessions, 1);
      assert.equal((await legacy.end()).status, 204);
    });
  });

  it("passes the caller's trace context to a tool, in both eras", async () => {
    await serving({ serve: [who] }, async ({ parley, fetch }) => {
      const said = JSON.stringify(trace);
      const modern = new ModernClient(parley.fetch, { meta: { ...trace, tracestate: 1 } });
      assert.equal(textOf(await modern.call("who")), `test client ${VERSION} ${said}`);
      const legacy = await TestClient.connect(fetch);
      const called = await legacy.call("who", {}, trace);
      assert.equal(await called.text(), `test client 2025-11-25 ${said}`);
      await legacy.end();
    });
  });

  it("answers a task tool as usual for a legacy client, with an error if the tool insists", async () => {
    const task = (name: string, required: boolean) =>
      createMcpTool(name).description("Takes long").task({ required })
        .execute(function* () {
          return "done";
        });
    await serving({ serve: [task("may", false), task("must", true)] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, {
        capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
      });
      assert.equal(await (await client.call("may")).text(), "done");
      const result = await (await client.call("must")).result();
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /io\.modelcontextprotocol\/tasks/);
      await client.end();
    });
  });

  it("rejects the methods of the other era", async () => {
    await servingModern({ serve: [who] }, async ({ fetch, parley }) => {
      const modern = new ModernClient(fetch);
      assert.equal((await modern.error("initialize", initialize().params)).code, -32601);
      const legacy = await TestClient.connect(parley.fetch);
      for (const method of ["server/discover", "subscriptions/listen", "tasks/get"]) {
        assert.equal((await legacy.request(method, {})).error.code, -32601);
      }
      await legacy.end();
    });
  });
});
