import assert from "node:assert/strict";
import { all, sleep } from "effection";
import { createMcpTool, createParley } from "parley-mcp";
import { z } from "zod";
import { accept, TestClient } from "../../support/modern/client.ts";
import { Watch } from "../../support/modern/watch.ts";
import type { Message } from "../../support/exchange.ts";
import { turn } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const FLOWS = 200;

/** Pseudo-random numbers from 0 to 1, the same in every run. */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const form = { response: z.object({ n: z.number() }) };

/** Asks in three rounds, in one of them two questions at once; each round has an effect. */
function orderTool(effects: Map<string, number>) {
  return createMcpTool("order").description("Orders").parameters(z.object({ flow: z.number() }))
    .elicits({ one: form, two: form, three: form })
    .execute(function* ({ flow }, ctx) {
      const count = (what: string) => {
        const name = `${flow} ${what}`;
        effects.set(name, (effects.get(name) ?? 0) + 1);
      };
      const ask = function* (key: "one" | "two" | "three") {
        const answer = yield* ctx.elicit(key, { message: key });
        count(key);
        return answer.action === "accept" ? answer.content.n : NaN;
      };
      count("start");
      const one = yield* ask("one");
      if (flow % 3 === 0) yield* sleep(0);
      const [two, three] = flow % 2 === 0
        ? yield* all([ask("two"), ask("three")])
        : [yield* ask("two"), yield* ask("three")];
      if (flow % 5 === 0) yield* sleep(0);
      count("end");
      return `${flow}: ${one} ${two} ${three}`;
    });
}

describe("a retry storm", () => {
  it("ends each of 200 flows once, with the right result, whatever was sent twice", async () => {
    const random = seeded(4711);
    const effects = new Map<string, number>();
    const parley = createParley({ serve: [orderTool(effects)] });
    const watch = new Watch();
    const client = new TestClient(watch.over(parley.fetch));
    let sent = 0;

    // Requests wait here, and are sent in random order.
    const waiting: (() => void)[] = [];
    let draining = false;
    const drain = async () => {
      draining = true;
      while (waiting.length > 0) {
        const batch = 1 + Math.floor(random() * 16);
        for (let i = 0; i < batch && waiting.length > 0; i++) {
          waiting.splice(Math.floor(random() * waiting.length), 1)[0]!();
        }
        await turn();
      }
      draining = false;
    };
    const post = async (params: { readonly [key: string]: unknown }) => {
      await new Promise<void>((go) => {
        waiting.push(go);
        if (!draining) drain();
      });
      sent++;
      return await client.result("tools/call", params);
    };

    const flow = async (flow: number): Promise<string> => {
      const call = { name: "order", arguments: { flow } };
      let result: Message["result"] = await post(call);
      let rounds = 0;
      while (result.resultType === "input_required") {
        assert.ok(++rounds <= 3);
        const { requestState, inputRequests } = result;
        const inputResponses = Object.fromEntries(
          Object.keys(inputRequests).map((key, i) => [key, accept({ n: flow * 10 + i })]),
        );
        const copies = 1 + Math.floor(random() * 3);
        const results = await Promise.all(
          Array.from({ length: copies }, () => post({ ...call, requestState, inputResponses })),
        );
        for (const other of results) {
          const { requestState: _mine, ...outcome } = other;
          const { requestState: _first, ...expected } = results[0];
          assert.deepEqual(outcome, expected);
        }
        result = results[Math.floor(random() * copies)];
      }
      return result.content[0].text;
    };

    try {
      const texts = await Promise.all(Array.from({ length: FLOWS }, (_, i) => flow(i)));
      texts.forEach((text, i) => {
        const second = i % 2 === 0 ? i * 10 + 1 : i * 10;
        assert.equal(text, `${i}: ${i * 10} ${i * 10} ${second}`);
      });
      assert.equal(effects.size, FLOWS * 5);
      assert.deepEqual([...new Set(effects.values())], [1]);
      assert.ok(sent > FLOWS * 4, `${sent} requests are no storm`);
      assert.deepEqual(watch.complaints, []);
      assert.equal(parley.counts.live, 0);
    } finally {
      await parley.close();
    }
  });
});
