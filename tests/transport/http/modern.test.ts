import assert from "node:assert/strict";
import { ORIGIN } from "../../support/exchange.ts";
import { TestClient, VERSION } from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { echo } from "../../support/tools.ts";
import { describe, it } from "../../suite.ts";

function testing(
  body: (client: TestClient, server: TestServer) => Promise<void>,
): () => Promise<void> {
  return () => serving({ serve: [echo] }, (server) => body(new TestClient(server.fetch), server));
}

describe("other HTTP methods", () => {
  it(
    "get 405 without a legacy session",
    testing(async (_client, { fetch }) => {
      for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
        for (const headers of [{}, { "mcp-protocol-version": VERSION }]) {
          const response = await fetch(
            new Request(`${ORIGIN}/mcp`, {
              method,
              headers: { accept: "text/event-stream", ...headers },
            }),
          );
          assert.equal(response.status, 405);
          assert.match(response.headers.get("allow")!, /POST/);
        }
      }
    }),
  );
});

describe("a page", () => {
  it(
    "may send the headers that tools name, besides the usual ones",
    testing(async (_client, { fetch }) => {
      const response = await fetch(
        new Request(`${ORIGIN}/mcp`, {
          method: "OPTIONS",
          headers: {
            origin: "http://localhost:3000",
            "access-control-request-method": "POST",
            "access-control-request-headers": "mcp-method,mcp-param-region, Mcp-Param-Dry, x-other",
          },
        }),
      );
      const allowed = response.headers.get("access-control-allow-headers")!.split(", ");
      for (const name of ["mcp-method", "mcp-name", "mcp-param-region", "Mcp-Param-Dry"]) {
        assert.ok(allowed.includes(name), name);
      }
      assert.ok(!allowed.includes("x-other"));
    }),
  );
});

describe("a modern POST that is not a request", () => {
  const headers = { "mcp-protocol-version": VERSION };

  it(
    "is accepted if it is a notification",
    testing(async (client) => {
      const body = {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: 1 },
      };
      const response = await client.post(body, headers);
      assert.equal(response.status, 202);
      assert.equal(await response.text(), "");
    }),
  );

  it(
    "is refused without an id if it is a response, a batch or not a message",
    testing(async (client) => {
      const request = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
      for (const body of [{ jsonrpc: "2.0", id: 1, result: {} }, [request], [], 1, null, "x"]) {
        const response = await client.post(JSON.stringify(body), headers);
        assert.equal(response.status, 400);
        const { id, error } = await response.json();
        assert.equal(id, undefined);
        assert.equal(error.code, -32600);
      }
    }),
  );

  it(
    "may carry a session id, which has no meaning here",
    testing(async (client) => {
      const exchange = await client.start("tools/list", {}, {
        headers: { "mcp-session-id": "gone", "last-event-id": "1.1" },
      });
      assert.equal(exchange.status, 200);
      assert.equal(exchange.response.headers.get("mcp-session-id"), null);
      await exchange.rest();
    }),
  );
});
