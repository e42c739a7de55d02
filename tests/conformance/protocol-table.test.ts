import assert from "node:assert/strict";
import { createParley } from "parley-mcp";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import * as everything from "./everything.ts";
import { type Entry, officialNames, REVISIONS, supports, TABLE } from "./protocol-table.ts";

const serve = Object.values(everything);

/** Runs a body with a function that sends a request in a revision. */
async function asking(
  revision: string,
  body: (
    request: (method: string) => Promise<{ error?: { code: number } }>,
    capabilities: object,
  ) => Promise<void>,
): Promise<void> {
  const parley = createParley({ serve });
  const params: { [method: string]: object } = {
    initialize: {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    },
    "tools/call": { name: "test_simple_text" },
    "prompts/get": { name: "test_simple_prompt" },
    "subscriptions/listen": { notifications: {} },
  };
  try {
    if (revision === "2026-07-28") {
      const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
      const client = new ModernClient(parley.fetch, { capabilities });
      const { capabilities: declared } = await client.result("server/discover");
      await body(async (method) => {
        const given = (params[method] ?? {}) as never;
        if (method !== "subscriptions/listen") return await client.request(method, given);
        // This stream has no end.
        const exchange = await client.start(method, given);
        await exchange.expect("notifications/subscriptions/acknowledged");
        await exchange.leave();
        return {};
      }, declared);
    } else {
      const client = await TestClient.connect(parley.fetch, {
        capabilities: {},
        version: revision as never,
      });
      const raw = { jsonrpc: "2.0", id: 1, method: "initialize", params: params.initialize };
      const { result } = await (await new TestClient(parley.fetch).post(raw)).json();
      assert.equal(result.protocolVersion, revision);
      await body(
        (method) => client.request(method, params[method] ?? {}) as never,
        result.capabilities,
      );
    }
  } finally {
    await parley.close();
  }
}

describe("the table of the protocol", () => {
  it("contains every name in the official schemas, and no other", () => {
    for (const revision of REVISIONS) {
      for (const [kind, names] of Object.entries(officialNames(revision))) {
        const rows = TABLE.filter((entry) => entry.kind === kind);
        const missing = [...names].filter((name) => !rows.some((row) => row.name === name));
        assert.deepEqual(missing, [], `${kind}, ${revision}`);
      }
    }
    const isOfficial = ({ kind, name }: Entry) =>
      REVISIONS.some((revision) => officialNames(revision)[kind].has(name));
    assert.deepEqual(TABLE.filter((entry) => !entry.extension && !isOfficial(entry)), []);
    for (const entry of TABLE) {
      for (const revision of entry.unsupported ?? []) {
        assert.ok(
          officialNames(revision)[entry.kind].has(entry.name) || entry.name === "experimental",
        );
      }
    }
    const keys = TABLE.map(({ kind, name }) => `${kind} ${name}`);
    assert.equal(new Set(keys).size, keys.length);
  });

  for (const revision of REVISIONS) {
    it(`says which requests and capabilities a server of ${revision} has`, () =>
      asking(revision, async (request, capabilities) => {
        for (const entry of TABLE) {
          const isSupported = supports(entry, revision) === true;
          const about = `${entry.name}, ${revision}`;
          if (entry.kind === "capability of the server") {
            assert.equal(entry.name in capabilities, isSupported, about);
          }
          if (entry.kind !== "request to the server") continue;
          const { error } = await request(entry.name);
          assert.equal(error?.code !== -32601, isSupported, `${about}: ${JSON.stringify(error)}`);
        }
      }));
  }
});
