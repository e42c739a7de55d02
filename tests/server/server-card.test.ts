import assert from "node:assert/strict";
import { Validator } from "@cfworker/json-schema";
import { createParley, type ParleyOptions } from "parley-mcp";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

const schema = JSON.parse(readText("tests/fixtures/schemas/server-card.json"));
const validator = new Validator(
  { $ref: "#/$defs/ServerCard", $defs: schema.$defs ?? schema.definitions },
  "2020-12",
);

type Get = (path: string, init?: RequestInit & { host?: string }) => Promise<Response>;

async function serving(options: ParleyOptions, body: (get: Get) => Promise<void>): Promise<void> {
  const parley = createParley(options);
  try {
    await body((path, { host = "127.0.0.1:7411", ...init } = {}) =>
      parley.fetch(
        new Request(`http://127.0.0.1:7411${path}`, {
          ...init,
          headers: { host, ...init.headers as Record<string, string> },
        }),
      )
    );
  } finally {
    await parley.close();
  }
}

const PUBLIC = {
  name: "weather",
  version: "1.2.3",
  info: { title: "Weather", description: "Tells the weather. ".repeat(10) },
  publicUrl: "https://api.example.com/tools",
  legacySse: true,
} satisfies ParleyOptions;

describe("the server card", () => {
  it("names the server and its addresses, as the published schema requires", () =>
    serving(PUBLIC, async (get) => {
      const response = await get("/mcp/server-card", { host: "api.example.com" });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), "application/mcp-server-card+json");
      assert.equal(response.headers.get("cache-control"), "public, max-age=3600");
      const card = await response.json();
      assert.deepEqual(validator.validate(card).errors, []);
      assert.deepEqual(card, {
        $schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        name: "com.example.api/weather",
        version: "1.2.3",
        description: `${"Tells the weather. ".repeat(10).slice(0, 99)}…`,
        title: "Weather",
        remotes: [
          {
            type: "streamable-http",
            url: "https://api.example.com/tools/mcp",
            supportedProtocolVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
          },
          {
            type: "sse",
            url: "https://api.example.com/tools/sse",
            supportedProtocolVersions: ["2024-11-05"],
          },
        ],
      });
    }));

  it("is found through the AI catalog", () =>
    serving(PUBLIC, async (get) => {
      const response = await get("/.well-known/ai-catalog.json", { host: "api.example.com" });
      assert.equal(response.headers.get("content-type"), "application/ai-catalog+json");
      assert.deepEqual(await response.json(), {
        specVersion: "1.0",
        entries: [{
          identifier: "urn:air:api.example.com:mcp:weather",
          type: "application/mcp-server-card+json",
          url: "https://api.example.com/tools/mcp/server-card",
        }],
      });
    }));

  it("has a tag, with which clients ask whether it changed", () =>
    serving({}, async (get) => {
      const etag = (await get("/mcp/server-card")).headers.get("etag")!;
      assert.match(etag, /^"[\w-]{43}"$/);
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const response = await get("/mcp/server-card", { headers: { "if-none-match": tag } });
        assert.equal(response.status, 304, tag);
        assert.equal(await response.text(), "");
      }
      const other = await get("/mcp/server-card", { headers: { "if-none-match": '"other"' } });
      assert.equal(other.status, 200);
    }));

  it("can be read by web pages of any origin, but only under an allowed host name", () =>
    serving({ principal: () => new Response(null, { status: 401 }) }, async (get) => {
      const origin = "https://elsewhere.example";
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        const response = await get("/mcp/server-card", { method, headers: { origin } });
        assert.equal(response.status, method === "OPTIONS" ? 204 : 200);
        assert.equal(response.headers.get("access-control-allow-origin"), "*");
        assert.equal(response.headers.get("access-control-allow-methods"), "GET");
        assert.equal(
          response.headers.get("access-control-allow-headers"),
          "Content-Type, If-None-Match",
        );
        assert.equal(response.headers.get("access-control-expose-headers"), "ETag");
        assert.equal((await response.text()).length > 0, method === "GET");
      }
      assert.equal((await get("/mcp/server-card", { host: "evil.example" })).status, 403);
      assert.equal((await get("/mcp", { method: "POST", headers: { origin } })).status, 403);
      assert.equal((await get("/mcp/server-card", { method: "POST" })).status, 405);
      assert.equal((await get("/mcp/server-cards")).status, 404);
    }));

  it("has a valid name for every server", async () => {
    for (
      const [name, publicUrl, expected] of [
        ["io.github.ann/weather", "https://example.com", "io.github.ann/weather"],
        ["My weather!", "https://example.com", "com.example/My-weather-"],
        ["parley", undefined, "localhost/parley"],
        ["parley", "http://[::1]:7411", "localhost/parley"],
        ["天気", "https://example.com", "com.example/-"],
      ] as const
    ) {
      await serving({ name, ...(publicUrl && { publicUrl }) }, async (get) => {
        const card = await (await get("/mcp/server-card")).json();
        assert.equal(card.name, expected);
        assert.deepEqual(validator.validate(card).errors, []);
      });
    }
  });

  it("says nothing of tools", () =>
    serving({}, async (get) => {
      assert.deepEqual(Object.keys(await (await get("/mcp/server-card")).json()), [
        "$schema",
        "name",
        "version",
        "description",
        "remotes",
      ]);
    }));
});
