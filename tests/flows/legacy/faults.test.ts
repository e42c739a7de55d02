/**
 * The connection between client and server is cut at every message boundary in turn.
 * Every call still ends with the right result, and its effects happen once.
 *
 * The official clients only resume streams with a known event id; cut anywhere else,
 * their calls fail or hang. So our own client crosses those boundaries, and the
 * official ones are tested by their own rules.
 */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { type Crossing, cuttingProxy } from "../../support/cutting-proxy.ts";
import { onLegacySocket } from "../../support/socket.ts";
import { PatientClient } from "../../support/legacy/patient-client.ts";
import type { Message } from "../../support/exchange.ts";

/** A tool that has one effect, after it has asked. */
function transferTool() {
  const done: number[] = [];
  const tool = createMcpTool("transfer")
    .description("Transfers money")
    .parameters(z.object({ to: z.string() }))
    .elicits({
      amount: { response: z.object({ amount: z.number() }) },
      confirm: { response: z.object({ sure: z.boolean() }) },
    })
    .execute(function* ({ to }, ctx) {
      yield* ctx.notify("Asking how much");
      const amount = yield* ctx.elicit("amount", { message: "How much?" });
      if (amount.action !== "accept") return "nothing";
      yield* ctx.log("info", "confirming");
      const confirm = yield* ctx.elicit("confirm", { message: `Sure, to ${to}?` });
      if (confirm.action !== "accept" || !confirm.content.sure) return "nothing";
      done.push(amount.content.amount);
      yield* ctx.notify("Transferred");
      const { text } = yield* ctx.sample({ prompt: "Thank them", maxTokens: 20 });
      return `${amount.content.amount} to ${to}. ${text}`;
    });
  return { tool, done };
}

function answer({ method, params }: Message): object {
  if (method === "sampling/createMessage") {
    return { role: "assistant", content: { type: "text", text: "Thanks!" }, model: "m" };
  }
  const content = params.message === "How much?" ? { amount: 5 } : { sure: true };
  return { action: "accept", content };
}

/** A whole conversation through a proxy that cuts once, at the boundary of this number. */
async function converse(url: string, at: number): Promise<{ text: string; cut?: Crossing }> {
  let count = 0;
  let cut: Crossing | undefined;
  const proxy = await cuttingProxy(url, (crossing) => {
    if (count++ !== at) return false;
    cut = crossing;
    return true;
  });
  try {
    const client = new PatientClient(proxy.url, answer);
    await client.connect({ elicitation: {}, sampling: {} });
    const result = await client.call("transfer", { to: "Ada" });
    await client.end();
    return { text: result.content[0].text, ...(cut && { cut }) };
  } finally {
    await proxy.close();
  }
}

describe("a cut connection", () => {
  it("changes nothing, at whichever boundary it is cut: right results, each step done once", async () => {
    const { tool, done } = transferTool();
    await onLegacySocket(
      { serve: [tool], limits: { clientSessionTimeToLive: 60_000 } },
      async ({ url, parley }) => {
        const boundaries = new Set<string>();
        for (let at = 0;; at++) {
          const { text, cut } = await converse(url, at);
          assert.equal(text, "5 to Ada. Thanks!", `cut at ${JSON.stringify(cut)}`);
          assert.deepEqual(done.splice(0), [5], `cut at ${JSON.stringify(cut)}`);
          assert.deepEqual([parley.counts.live, parley.counts.streams], [0, 0]);
          if (!cut) break;
          boundaries.add(cut.boundary);
        }
        assert.deepEqual([...boundaries].sort(), ["end", "event", "head", "request"]);
      },
    );
  });

  it("changes nothing even if it is cut at every boundary, once for each message", async () => {
    const { tool, done } = transferTool();
    await onLegacySocket({ serve: [tool] }, async ({ url }) => {
      const seen = new Set<string>();
      const proxy = await cuttingProxy(url, ({ boundary, method, posted, event }) => {
        // Ids differ between attempts; the content does not.
        const key = [boundary, method, posted, event].join().replace(
          /_[0-9a-f-]{36}_|"?\d+"?/g,
          "",
        );
        return !seen.has(key) && Boolean(seen.add(key));
      });
      const client = new PatientClient(proxy.url, answer);
      await client.connect({ elicitation: {}, sampling: {} });
      const result = await client.call("transfer", { to: "Ada" });
      await client.end();
      await proxy.close();
      assert.equal(result.content[0].text, "5 to Ada. Thanks!");
      assert.deepEqual(done, [5]);
      assert.ok(seen.size > 20, `${seen.size} cuts`);
    });
  });
});
