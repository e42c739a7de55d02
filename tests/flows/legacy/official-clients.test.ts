/** The official clients, over real sockets, in the legacy era. */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../../suite.ts";
import { type Crossing, cuttingProxy } from "../../support/cutting-proxy.ts";
import { planTrip } from "../../support/multi-round-tool.ts";
import { connectV1, connectV2, type Official } from "../../support/official-clients.ts";
import { onLegacySocket } from "../../support/socket.ts";
import { noticed } from "../../support/turn.ts";

const clients: [string, (url: string) => Promise<Official>][] = [
  ["v1", connectV1],
  ["v2", (url) => connectV2(url, "legacy")],
];

/** A short retry time, so that tests do not wait. */
const limits = { reconnectDelay: 5 };

for (const [name, connect] of clients) {
  describe(`the official client ${name}`, () => {
    it("handles three questions, one of them declined, a sample, progress and logs", () =>
      onLegacySocket({ serve: [planTrip] }, async ({ url, parley, watch }) => {
        const client = await connect(url);
        await client.call("plan_trip", { to: "Graz" });
        assert.equal(client.version, "2025-11-25");
        const { questions, answers, progress, logs, result } = client.conversation;
        assert.deepEqual(
          questions.map((question) => (question as { method: string }).method),
          [...Array(3).fill("elicitation/create"), "sampling/createMessage"],
        );
        assert.deepEqual(
          answers.map((answer) => (answer as { action?: string }).action),
          ["accept", "accept", "decline", undefined],
        );
        assert.deepEqual(
          progress.map((step) => (step as { progress: number }).progress),
          [1, 2, 3, 4],
        );
        assert.equal(logs.length, 2);
        assert.deepEqual((result as { structuredContent: object }).structuredContent, {
          plan: "Graz on 2026-08-01, window",
          extras: false,
          poem: "O Graz, thy clock is tall.",
        });
        assert.deepEqual([parley.counts.live, parley.counts.clientSessions], [0, 1]);
        await client.close();
        assert.equal(parley.counts.clientSessions, 0);
        assert.ok(watch.messages >= 12);
      }));

    it("resumes after its stream is cut, behind any event", () =>
      onLegacySocket({ serve: [planTrip], limits }, async ({ url, parley }) => {
        let whole: unknown;
        for (let at = 0;; at++) {
          let count = 0;
          let cut: Crossing | undefined;
          const proxy = await cuttingProxy(url, (crossing) => {
            // Both the stream of the call and, once it was cut, the one that resumes it.
            if (
              crossing.boundary !== "event" || /"(initialize|notifications\/)/.test(crossing.posted)
            ) {
              return false;
            }
            if (crossing.event?.startsWith("id: 0.") || count++ !== at) return false;
            cut = crossing;
            return true;
          });
          const client = await connect(proxy.url);
          await client.call("plan_trip", { to: "Graz" });
          await client.close();
          await proxy.close();
          whole ??= client.conversation;
          assert.deepEqual(client.conversation, whole, `cut after ${cut?.event}`);
          if (!cut) break;
          assert.ok(at < 40);
        }
        assert.deepEqual([parley.counts.live, parley.counts.streams], [0, 0]);
      }));

    it("reconnects after it was asked to, and gets the events of the time in between", () =>
      onLegacySocket({ serve: [patient], limits }, async ({ url }) => {
        const client = await connect(url);
        await client.call("patient", {});
        const { content } = client.conversation.result as { content: { text: string }[] };
        assert.equal(content[0]?.text, "worth the wait");
        await client.close();
      }));

    it("cancels a call, whose tool stops and cleans up, and calls another", async () => {
      const { tool, state } = endlessTool();
      await onLegacySocket({ serve: [tool, planTrip] }, async ({ url, parley }) => {
        const client = await connect(url);
        const cancelling = new AbortController();
        const calling = client.call("endless", {}, cancelling.signal);
        await noticed(() => client.conversation.questions.length === 1);
        cancelling.abort("enough");
        await assert.rejects(calling);
        await noticed(() => state.cleaned === 1 && parley.counts.streams <= 1);
        assert.equal(parley.counts.live, 0);
        await client.call("plan_trip", { to: "Graz" });
        assert.equal(client.conversation.questions.length, 1 + 4);
        await client.close();
      });
    });

    // Three refusals in a row that are too fast for a person close the door "form". Where it is the
    // only door, each refusal counts.
    it("can have several calls at once", () =>
      onLegacySocket({ serve: [planTrip], doors: ["form"] }, async ({ url }) => {
        const client = await connect(url);
        await Promise.all(["Graz", "Linz", "Wels"].map((to) => client.call("plan_trip", { to })));
        assert.equal(client.conversation.questions.length, 12);
        await client.close();
      }));
  });
}

/** Hangs up at once, and then runs for a while. */
const patient = createMcpTool("patient").description("Takes its time")
  .execute(function* (_params, ctx) {
    yield* ctx.hangUp();
    yield* ctx.log("info", "meanwhile");
    yield* ctx.sleep(150);
    return "worth the wait";
  });

/** Asks, and never accepts the answer. */
function endlessTool() {
  const state = { cleaned: 0 };
  const tool = createMcpTool("endless").description("Has no end")
    .elicits({ more: { response: z.object({ date: z.string() }) } })
    .execute(function* (_params, ctx) {
      try {
        yield* ctx.elicit("more", { message: "When will this end?" });
        yield* ctx.sleep(3_600_000);
        return "never";
      } finally {
        state.cleaned++;
      }
    });
  return { tool, state };
}
