import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { Gate } from "../support/gate.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, servingEra, textOf, ticketOf } from "./host.ts";

/** Asks for a seat, then for a meal. */
const book = createMcpTool("book").description("Books a seat.")
  .output(z.object({ seat: z.string(), meal: z.string(), via: z.array(z.string()) }))
  .elicits({
    seat: { response: z.object({ seat: z.enum(["window", "aisle"]), row: z.int().min(1) }) },
    meal: { response: z.object({ meal: z.string() }) },
  })
  .requires({ elicitation: true })
  .execute(function* (_params, ctx) {
    const seat = yield* ctx.elicit("seat", { message: "Which seat?" });
    if (seat.action !== "accept") return { seat: seat.action, meal: "", via: [] };
    const meal = yield* ctx.elicit("meal", { message: "Which meal?" });
    return {
      seat: `${seat.content.row} ${seat.content.seat}`,
      meal: meal.action === "accept" ? meal.content.meal : meal.action,
      via: [seat.via, ...meal.action === "accept" ? [meal.via] : []],
    };
  });

for (const era of ERAS) {
  describe(`the door "model" in the ${era} era`, () => {
    it("continues a call with the answers that a model sends", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const first = await host.call("book");
        assert.match(textOf(first), /Which seat\?/);
        assert.match(textOf(first), /- seat: one of "window", "aisle"; required/);
        assert.match(textOf(first), /- row: a whole number, at least 1; required/);
        assert.equal(first.structuredContent.message, textOf(first));
        const [question] = first.structuredContent.questions;
        assert.deepEqual(question, { key: "seat", door: "model", message: "Which seat?" });

        const second = await host.call("continue_call", {
          ticket: ticketOf(first),
          answer: { seat: "aisle", row: "3" },
        });
        assert.match(textOf(second), /Which meal\?/);
        const last = await host.call("continue_call", {
          ticket: ticketOf(second),
          answer: "soup",
        });
        const booked = { seat: "3 aisle", meal: "soup", via: ["model", "model"] };
        assert.deepEqual(last.structuredContent, booked);

        // An answer that is given twice counts once, and the result can be fetched again.
        const again = await host.call("continue_call", {
          ticket: ticketOf(second),
          answer: "soup",
        });
        assert.deepEqual(again.structuredContent, booked);
      });
    });

    it("takes the answer to a question that the log no longer contains", async () => {
      const gates = [new Gate(), new Gate()] as const;
      const noisy = createMcpTool("noisy").description("Asks, and reports a lot.")
        .elicits({ n: { response: z.object({ n: z.string() }) } })
        .execute(function* (_params, ctx) {
          const [n] = yield* ctx.branches([
            function* (branch: typeof ctx) {
              const answer = yield* branch.elicit("n", { message: "Which n?" });
              return answer.action === "accept" ? answer.content.n : answer.action;
            },
            function* (branch: typeof ctx) {
              for (const gate of gates) {
                yield* gate.pass();
                for (let i = 0; i < 50; i++) yield* branch.notify("x");
              }
              return "";
            },
          ]);
          return n;
        });
      const options = { serve: [noisy], limits: { maxEventsPerSession: 20 } };
      await servingEra(era, options, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const call = async (name: string, args?: object) => {
          const calling = host.call(name, args);
          await idle();
          // The request waits a moment for questions of the other branch.
          clock.advance(1_000);
          return await calling;
        };
        const first = ticketOf(await call("noisy"));
        gates[0].open();
        await idle();
        const bad = await call("continue_call", { ticket: first, key: "m", answer: "1" });
        assert.match(textOf(bad), /no question "m" was open/);
        const { ticket } = bad.structuredContent;
        gates[1].open();
        await idle();
        const result = await call("continue_call", { ticket, answer: { n: "1" } });
        assert.equal(textOf(result), "1");
      });
    });

    it("lists continue_call, and a schema that every result fits", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const { result } = await host.request("tools/list");
        assert.deepEqual(result.tools.map(({ name }: { name: string }) => name), [
          "book",
          "continue_call",
          "answer_call",
        ]);
        const [{ outputSchema }] = result.tools;
        assert.equal(outputSchema.type, "object");
        assert.equal(outputSchema.anyOf.length, 2);
      });
    });

    it("refuses a different answer to an answered question, and says how to continue", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const first = await host.call("book");
        const ticket = ticketOf(first);
        await host.call("continue_call", { ticket, answer: { seat: "aisle", row: 3 } });
        const refused = await host.call("continue_call", {
          ticket,
          answer: { seat: "window", row: 3 },
        });
        assert.equal(refused.isError, true);
        assert.match(textOf(refused), /Which meal\?/);
        const last = await host.call("continue_call", {
          ticket: refused.structuredContent.ticket,
          answer: { meal: "soup" },
        });
        assert.equal(last.structuredContent.seat, "3 aisle");
      });
    });

    it("asks again if the answer does not fit, and tells why", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const first = await host.call("book");
        const again = await host.call("continue_call", {
          ticket: ticketOf(first),
          answer: { seat: "roof", row: 3 },
        });
        assert.match(textOf(again), /The last answer could not be used/);
        const next = await host.call("continue_call", {
          ticket: ticketOf(again),
          answer: { seat: "window", row: 3 },
        });
        assert.match(textOf(next), /Which meal\?/);
      });
    });

    it("passes a refusal on", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("book"));
        const last = await host.call("continue_call", { ticket, answer: "decline" });
        assert.equal(last.structuredContent.seat, "decline");
      });
    });

    it("ends the call if the model cancels it", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch, parley }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("book"));
        await host.call("continue_call", { ticket, cancel: true });
        assert.equal(parley.counts.live, 0);
        const after = await host.call("continue_call", { ticket, answer: { row: 1 } });
        assert.equal(after.isError, true);
      });
    });

    it("says the same of a forged, a foreign and an expired ticket", async () => {
      const principal = (request: Request) => request.headers.get("x-user") ?? "nobody";
      await servingEra(era, { serve: [book], principal }, async ({ fetch, clock }) => {
        const ann = await connectHost(era, fetch, { headers: { "x-user": "ann" } });
        const bob = await connectHost(era, fetch, { headers: { "x-user": "bob" } });
        const ticket = ticketOf(await ann.call("book"));
        const foreign = await bob.call("continue_call", { ticket });
        assert.equal(foreign.isError, true);
        const changed = `${ticket.slice(0, -2)}${ticket.endsWith("AA") ? "BB" : "AA"}`;
        assert.deepEqual(await ann.call("continue_call", { ticket: changed }), foreign);
        clock.advance(3_600_000);
        const later = await connectHost(era, fetch, { headers: { "x-user": "ann" } });
        assert.deepEqual(await later.call("continue_call", { ticket }), foreign);
      });
    });

    it("tells the model when an answer comes too late", async () => {
      const hasty = createMcpTool("hasty").description("Waits a second for each answer.")
        .elicits({ n: { response: z.object({ n: z.int() }) } })
        .execute(function* (_params, ctx) {
          const first = yield* ctx.elicit("n", { message: "One?" }, { timeout: 1_000 });
          const second = yield* ctx.elicit("n", { message: "Two?" });
          return `${first.action}, ${second.action}`;
        });
      await servingEra(era, { serve: [hasty] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("hasty"));
        clock.advance(1_000);
        const late = await host.call("continue_call", { ticket, answer: { n: 1 } });
        assert.equal(late.isError, true);
        assert.match(textOf(late), /no longer open/);
        assert.match(textOf(late), /Two\?/);
        const last = await host.call("continue_call", {
          ticket: late.structuredContent.ticket,
          answer: { n: 2 },
        });
        assert.equal(textOf(last), "timeout, accept");
      });
    });

    it("does not end when its first request is cancelled, or its session ends", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch, parley }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("book"));
        const other = await connectHost(era, fetch);
        assert.equal(parley.counts.live, 1);
        const next = await other.call("continue_call", {
          ticket,
          answer: { seat: "aisle", row: 1 },
        });
        assert.match(textOf(next), /Which meal\?/);
      });
    });

    it("refuses an answer that is not valid, and repeats the question", async () => {
      await servingEra(era, { serve: [book] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("book"));
        for (const answer of ["window", 3, true]) {
          const refused = await host.call("continue_call", { ticket, answer });
          assert.equal(refused.isError, true);
          assert.match(textOf(refused), /Which seat\?/);
        }
        const unknown = await host.call("continue_call", { ticket, key: "meal", answer: "x" });
        assert.equal(unknown.isError, true);
        assert.equal((await host.call("continue_call", { ticket: 7 })).isError, true);
        assert.equal((await host.call("continue_call", {})).isError, true);
      });
    });
  });
}
