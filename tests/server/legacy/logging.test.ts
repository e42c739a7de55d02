import assert from "node:assert/strict";
import { createMcpTool, type LogLevel } from "parley-mcp";
import { describe, it } from "../../suite.ts";
import { TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";

const LEVELS: LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];
const loud = createMcpTool("loud").description("Logs").execute(function* (_params, ctx) {
  for (const level of LEVELS) yield* ctx.log(level, { at: level }, "loud");
  return "done";
});

async function heard(client: TestClient): Promise<string[]> {
  const messages = await (await client.call("loud")).rest();
  return messages.slice(0, -1).map(({ params }) => {
    assert.deepEqual(params, { level: params.level, logger: "loud", data: { at: params.level } });
    return params.level;
  });
}

describe("logging/setLevel", () => {
  it("sets the lowest level that is sent; the default is info", () =>
    serving({ serve: [loud] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      assert.deepEqual(await heard(client), LEVELS.slice(1));
      for (const [i, level] of LEVELS.entries()) {
        assert.deepEqual((await client.request("logging/setLevel", { level })).result, {});
        assert.deepEqual(await heard(client), LEVELS.slice(i));
      }
    }));

  it("applies to one client only", () =>
    serving({ serve: [loud] }, async ({ fetch }) => {
      const [one, two] = [await TestClient.connect(fetch), await TestClient.connect(fetch)];
      await one.request("logging/setLevel", { level: "emergency" });
      assert.equal((await heard(one)).length, 1);
      assert.equal((await heard(two)).length, 7);
    }));

  it("refuses an unknown level", () =>
    serving({ serve: [loud] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch);
      for (const level of ["loud", "INFO", "constructor", 1, null, undefined]) {
        const { error } = await client.request("logging/setLevel", { level });
        assert.equal(error.code, -32602, `${level}`);
      }
    }));
});
