/**
 * Why the official clients may show less progress over stdio than over HTTP: both drop
 * a progress notification that they read together with the response to its request.
 * They look the handler up a turn later, when the response has already removed it.
 * docs/clients.md documents that; if a release fixes it, these tests notice.
 */
import assert from "node:assert/strict";
import { until } from "effection";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { createMcpTool } from "parley-mcp";
import { describe, it } from "../../suite.ts";
import { turn } from "../../support/turn.ts";
import { useStdio } from "./channel.ts";

const four = createMcpTool("four").description("Tells four times").execute(function* (_, ctx) {
  for (let i = 1; i <= 4; i++) yield* ctx.notify(`${i}`, i, 4);
  return "done";
});

interface Sent {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly _meta?: { readonly progressToken?: number } };
}

/** The other end of a client: sends progress and the result, in one turn or in several. */
class Transport {
  onmessage?: (message: object) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #together: boolean;

  constructor(together: boolean) {
    this.#together = together;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }

  async send(message: object): Promise<void> {
    const { id, method, params } = message as Sent;
    if (id === undefined) return;
    await turn();
    const respond = (result: object) => this.onmessage?.({ jsonrpc: "2.0", id, result });
    if (method === "initialize") {
      return respond({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      });
    }
    const progressToken = params?._meta?.progressToken;
    const tell = { progressToken, progress: 1, message: "nearly there" };
    this.onmessage?.({ jsonrpc: "2.0", method: "notifications/progress", params: tell });
    if (!this.#together) await turn();
    respond({ content: [] });
  }
}

const INFO = { name: "test", version: "1" };

/** How many progress notifications reach the caller. */
async function seen(release: "v1" | "v2", together: boolean): Promise<number> {
  let count = 0;
  const transport = new Transport(together);
  const options = { onprogress: () => void count++ };
  if (release === "v1") {
    const client = new Client(INFO);
    await client.connect(transport as never);
    await client.callTool({ name: "four" }, undefined, options);
    await client.close();
  } else {
    const client = new v2.Client(INFO, { versionNegotiation: { mode: "legacy" } });
    await client.connect(transport as never);
    await client.callTool({ name: "four" }, options);
    await client.close();
  }
  return count;
}

describe("progress over stdio", () => {
  it("is written completely, and before the result, in both eras", function* () {
    for (const era of ["request", "modern"] as const) {
      const { client } = yield* useStdio({ serve: [four] });
      yield* until(client.answerTo(client.initialize()));
      client.messages.length = 0;
      const id = client[era]("tools/call", { name: "four", _meta: { progressToken: "p" } });
      yield* until(client.answerTo(id));
      const told = client.messages.map(({ id, params }) => params?.progress ?? id);
      assert.deepEqual(told, [1, 2, 3, 4, id]);
    }
  });

  for (const release of ["v1", "v2"] as const) {
    it(`is lost by the official ${release} client if it reads it together with the result`, async () => {
      assert.equal(await seen(release, false), 1);
      assert.equal(await seen(release, true), 0);
    });
  }
});
