import assert from "node:assert/strict";
import { until } from "effection";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/legacy/client.ts";
import { serving } from "../support/legacy/server.ts";
import { echo } from "../support/tools.ts";
import { useStdio } from "../transport/stdio/channel.ts";

const REFUSED =
  "Cannot read the body: it has more than 100000 keys, strings and elements; send fewer";

/** About four megabytes of each: small as text, and large once it is parsed. */
const bodies = {
  keys: `{${Array.from({ length: 400_000 }, (_, i) => `"${i.toString(36)}":0`).join(",")}}`,
  strings: `[${Array.from({ length: 400_000 }, (_, i) => `"${i}"`).join(",")}]`,
  "empty objects": `[${"{},".repeat(1_300_000)}0]`,
  numbers: `[${"0,".repeat(2_000_000)}0]`,
};

describe("a body of many small parts", () => {
  for (const [kind, value] of Object.entries(bodies)) {
    it(`is refused before it is parsed: ${kind}`, () =>
      serving({ serve: [echo] }, async ({ fetch }) => {
        const client = await TestClient.connect(fetch);
        for (const params of [`{"name":"echo","arguments":{"text":${value}}}`, value]) {
          const response = await client.post(
            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
          );
          assert.equal(response.status, 400);
          assert.equal((await response.json()).error.message, REFUSED);
        }
        assert.deepEqual((await client.request("ping")).result, {});
      }));
  }

  it("is refused over stdio too, and the connection stays open", function* () {
    const { client } = yield* useStdio({ serve: [echo] });
    client.initialize();
    for (const value of Object.values(bodies)) {
      const params = `{"name":"echo","arguments":{"text":${value}}}`;
      client.raw(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":${params}}\n`);
      const { error } = yield* until(client.find(({ error }) => error !== undefined));
      assert.equal(error!.message, REFUSED.replace("body", "line"));
      client.messages.length = 0;
    }
    const ping = client.request("ping");
    assert.deepEqual((yield* until(client.answerTo(ping))).result, {});
  });

  it("is accepted up to the limit, and one long string always", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      const rows = Array.from({ length: 9_000 }, (_, i) => ({ id: i, name: "a", more: [1, 2] }));
      const { result } = await client.request("tools/call", {
        name: "echo",
        arguments: { text: "rows", rows },
      });
      assert.equal(result.content[0].text, "rows");
      const text = '{"a":[1,2,"b"],'.repeat(150_000);
      const long = await client.request("tools/call", { name: "echo", arguments: { text } });
      assert.equal(long.result.content[0].text.length, text.length);
    }));
});
