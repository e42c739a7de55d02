import { describe, it } from "./suite.ts";
import { initialize, ORIGIN, TestClient } from "./support/client.ts";
import { serving } from "./support/server.ts";
import { handTool } from "./support/tools.ts";
describe("x", () => { it("y", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool], legacySse: true }, async ({ parley }) => {
  const stream = await new TestClient(parley.fetch, { url: `${ORIGIN}/sse` }).listen();
  const f = (await stream.frame())!;
  const client = new TestClient(parley.fetch, { url: `${ORIGIN}${f.data}` });
  await client.post(initialize({version: "2024-11-05"}));
  await client.post({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hand", arguments: {} } });
      for (let i = 0; i < 20; i++) { runs[0]!.log("x".repeat(1_000_000)); console.log(i, runs[0]!.ended, parley.counts); }
    }); }); });
