/**
 * What people, models and views send too late, twice, or without the right to: each gets a clear
 * message, and nothing is lost or doubled.
 */
import assert from "node:assert/strict";
import { createMcpTool, type ManualClock } from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { idle, until } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { asking } from "./asking-tools.ts";
import { connectHost, ERAS, type Host, type Result, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn, postForm, sendForm, show } from "./page.ts";

const APPS = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};
const ask = (result: Result) => result._meta["parley/ask"];

/** Calls a tool. Its questions are collected for 20 ms, and its view does not check in. */
async function deferred(host: Host, clock: ManualClock, tool: string): Promise<Result> {
  const calling = host.call(tool);
  await idle();
  clock.advance(20);
  await idle();
  clock.advance(2_000);
  return await calling;
}

const given = (state: Result, text: string) => ({
  secret: state.secret,
  answer: { question: state.question.id, action: "accept", content: { n: text } },
});

for (const era of ERAS) {
  describe(`bad input at the door "model", in the ${era} era`, () => {
    it("is a replayed ticket: its answer never reaches a later question", async () => {
      const effects = asking();
      await servingEra(era, { serve: effects.serve }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const first = ticketOf(await host.call("twice"));
        const answer = { n: "one" };
        const second = ticketOf(await host.call("continue_call", { ticket: first, answer }));
        // The same again changes nothing, and shows the question that is open now.
        const replayed = await host.call("continue_call", { ticket: first, answer });
        assert.notEqual(replayed.isError, true);
        assert.match(textOf(replayed), /Second\?/);
        const other = await host.call("continue_call", { ticket: first, answer: { n: "two" } });
        assert.equal(other.isError, true);
        assert.deepEqual(effects.done, ["one"]);
        const last = { ticket: second, answer: { n: "two" } };
        assert.equal(textOf(await host.call("continue_call", last)), "one,two");
        // The call has ended. Its ticket returns the result for a while, whatever it answers.
        assert.equal(textOf(await host.call("continue_call", last)), "one,two");
        const late = await host.call("continue_call", { ticket: second, answer: { n: "three" } });
        assert.equal(late.isError, true);
        clock.advance(3_600_000);
        const later = await connectHost(era, fetch);
        const gone = await later.call("continue_call", last);
        assert.equal(gone.isError, true);
        assert.match(textOf(gone), /no longer exists; call the tool again/);
        assert.deepEqual(effects.done, ["one", "two"]);
      });
    });

    it("is an answer to a question that was withdrawn", async () => {
      const effects = asking();
      await servingEra(era, { serve: effects.serve }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await deferred(host, clock, "fickle"));
        await effects.withdraw();
        const late = await host.call("continue_call", { ticket, answer: { n: "x" } });
        assert.equal(late.isError, true);
        assert.match(textOf(late), /no longer open.*Second\?/s);
        const next = { ticket: late.structuredContent.ticket, answer: { n: "y" } };
        assert.equal(textOf(await host.call("continue_call", next)), "y");
      });
    });

    it("is two answers at the same moment: one counts", async () => {
      const effects = asking();
      await servingEra(era, { serve: effects.serve }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const ticket = ticketOf(await host.call("twice"));
        const results = await Promise.all(
          ["one", "two", "three"].map((text) =>
            host.call("continue_call", { ticket, answer: { n: text } })
          ),
        );
        assert.equal(results.filter(({ isError }) => isError).length, 2);
        for (const result of results) assert.match(textOf(result), /Second\?/);
        assert.equal(effects.done.length, 1);
        await host.call("continue_call", { ticket, cancel: true });
      });
    });
  });

  describe(`bad input at the door "app", in the ${era} era`, () => {
    it("is an answer to a question that was answered", async () => {
      const effects = asking();
      await servingEra(era, { serve: effects.serve }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const first = ask(await deferred(host, clock, "twice"));
        const [one, two] = await Promise.all([
          host.call("answer_call", given(first, "one")),
          host.call("answer_call", given(first, "two")),
        ]);
        assert.notEqual(one.isError, true);
        assert.match(textOf(two), /already has an answer; the first answer counts/);
        // The same answer again is fine, and shows the question that is open now.
        const again = await host.call("answer_call", given(first, "one"));
        assert.equal(ask(again).question.message, "Second?");
        assert.deepEqual(effects.done, ["one"]);
        const done = await host.call("answer_call", given(ask(one), "two"));
        assert.equal(ask(done).state, "done");
        const after = await host.call("answer_call", given(ask(one), "three"));
        assert.equal(after.isError, true);
        assert.deepEqual(effects.done, ["one", "two"]);
      });
    });

    it("is an answer to a question that timed out, or was withdrawn", async () => {
      const effects = asking();
      const principal = () => "ann";
      await servingEra(era, { serve: effects.serve, principal }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const view = await connectHost(era, fetch, { capabilities: APPS });
        const shown = async (tool: string) => {
          const calling = host.call(tool);
          await idle();
          const state = ask(await view.call("answer_call", { find: { tool, arguments: {} } }));
          assert.equal(state.question.message, "First?");
          return { calling, state };
        };
        const hasty = await shown("hasty");
        clock.advance(1_000);
        const late = await view.call("answer_call", given(hasty.state, "x"));
        assert.match(textOf(late), /the time for an answer is over/);
        const { secret } = hasty.state;
        const second = ask(await view.call("answer_call", { secret }));
        assert.equal(second.question.message, "Second?");
        await view.call("answer_call", given(second, "y"));
        assert.equal(textOf(await hasty.calling), "timeout, accept");

        const fickle = await shown("fickle");
        await effects.withdraw();
        const dropped = await view.call("answer_call", given(fickle.state, "x"));
        assert.match(textOf(dropped), /no longer asks this/);
        const last = ask(await view.call("answer_call", { secret: fickle.state.secret }));
        await view.call("answer_call", given(last, "y"));
        assert.equal(textOf(await fickle.calling), "y");
      });
    });

    it("is a secret of another caller, of a call that ended, or none", async () => {
      const effects = asking();
      const principal = (request: Request) => request.headers.get("x-user") ?? "nobody";
      await servingEra(era, { serve: effects.serve, principal }, async ({ fetch, clock }) => {
        const as = (user: string) =>
          connectHost(era, fetch, { capabilities: APPS, headers: { "x-user": user } });
        const ann = await as("ann");
        const deferral = await deferred(ann, clock, "twice");
        const state = ask(deferral);
        const foreign = await (await as("bob")).call("answer_call", given(state, "x"));
        assert.match(textOf(foreign), /not known here/);
        for (const secret of ["", "s_", 7, ticketOf(deferral), state.secret.slice(0, -1)]) {
          const forged = await ann.call("answer_call", given({ ...state, secret }, "x"));
          assert.deepEqual(forged, foreign, String(secret));
        }
        await ann.call("continue_call", { ticket: ticketOf(deferral), cancel: true });
        const ended = await ann.call("answer_call", given(state, "x"));
        assert.equal(ended.isError, true);
        assert.deepEqual(effects.done, []);
      });
    });
  });

  describe(`bad input at the door "page", in the ${era} era`, () => {
    const paged = (
      body: (
        parts:
          & { host: Host; browse: typeof globalThis.fetch; effects: ReturnType<typeof asking> }
          & {
            clock: ManualClock;
          },
      ) => Promise<void>,
    ) => {
      const effects = asking();
      return servingEra(
        era,
        { serve: effects.serve, publicUrl: ORIGIN },
        async ({ fetch, clock, parley }) => {
          const host = await connectHost(era, fetch);
          await body({ host, clock, effects, browse: parley.fetch as typeof globalThis.fetch });
        },
      );
    };

    it("is a form that is posted twice at the same moment: one answer counts", () =>
      paged(async ({ host, browse, effects }) => {
        const deferral = await host.call("twice");
        const link = linkIn(textOf(deferral));
        const { html } = await show(browse, link);
        const [one, two] = await Promise.all(
          ["one", "two"].map((text) => postForm(browse, link, html, { n: text })),
        );
        assert.match(one!.headers.get("location")!, /sent=accept/);
        assert.match(two!.headers.get("location")!, /sent=again/);
        assert.deepEqual(effects.done, ["one"]);
        // Both tabs then show the second question.
        const next = await show(browse, new URL(two!.headers.get("location")!, link).href);
        assert.match(next.html, /The first answer counts.*Second\?/s);
        await host.call("continue_call", { ticket: ticketOf(deferral), cancel: true });
      }));

    it("is an answer in an old tab: it does not reach the next question", () =>
      paged(async ({ host, browse, effects }) => {
        const deferral = await host.call("twice");
        const link = linkIn(textOf(deferral));
        const [one, two] = [await show(browse, link), await show(browse, link)];
        await sendForm(browse, link, one.html, { n: "one" });
        const late = await sendForm(browse, link, two.html, { n: "two" });
        assert.equal(late.status, 409);
        assert.match(late.html, /answered already/);
        assert.deepEqual(effects.done, ["one"]);
        await answerPage(browse, link, { n: "two" });
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "one,two");
      }));

    it("is an answer to a question that timed out", () =>
      paged(async ({ host, browse, clock }) => {
        const deferral = await host.call("hasty");
        const link = linkIn(textOf(deferral));
        const { html } = await show(browse, link);
        clock.advance(1_000);
        const late = await sendForm(browse, link, html, { n: "late" });
        assert.equal(late.status, 409);
        assert.match(late.html, /was not sent.*time for an answer is over/s);
        await answerPage(browse, link, { n: "two" });
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "timeout, accept");
      }));

    it("is an answer to a question that was withdrawn", () =>
      paged(async ({ host, browse, effects, clock }) => {
        const deferral = await deferred(host, clock, "fickle");
        const link = linkIn(textOf(deferral));
        const { html } = await show(browse, link);
        await effects.withdraw();
        const late = await sendForm(browse, link, html, { n: "x" });
        assert.equal(late.status, 409);
        assert.match(late.html, /was not sent.*no longer asks this/s);
        assert.match(late.html, /Show the question that is open now/);
        await answerPage(browse, link, { n: "y" });
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "y");
      }));

    it("is an answer in the client's reply to a URL: the page has to send it", async () => {
      const effects = asking();
      const options = { serve: effects.serve, publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, clock, parley: { fetch: browse } }) => {
        let asked = 0;
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { url: {} } },
          answer() {
            asked++;
            return { action: "accept", content: { n: "forged" } };
          },
        });
        const calling = host.call("twice");
        await until(() => asked === 1);
        await idle();
        clock.advance(20_000);
        const deferral = await calling;
        assert.deepEqual(effects.done, []);
        await answerPage(browse, linkIn(textOf(deferral)), { n: "one" });
        assert.deepEqual(effects.done, ["one"]);
        await host.call("continue_call", { ticket: ticketOf(deferral), cancel: true });
      });
    });

    it("is an address that was forged, or belongs to another caller", async () => {
      const effects = asking();
      const principal = (request: Request) => request.headers.get("x-user") ?? "nobody";
      const options = { serve: effects.serve, publicUrl: ORIGIN, principal };
      await servingEra(era, options, async ({ fetch, parley }) => {
        const host = await connectHost(era, fetch, { headers: { "x-user": "ann" } });
        const deferral = await host.call("twice");
        const link = linkIn(textOf(deferral));
        const as = (user: string) => (request: Request) => {
          request.headers.set("x-user", user);
          return parley.fetch(request);
        };
        const { html } = await show(as("ann"), link);
        assert.match(html, /First\?/);
        const foreign = await show(as("bob"), link);
        assert.equal(foreign.status, 403);
        assert.ok(!foreign.html.includes("First?"));
        assert.equal((await sendForm(as("bob"), link, html, { n: "bob" })).status, 403);
        const forged = `${link.slice(0, -2)}${link.endsWith("AA") ? "BB" : "AA"}`;
        assert.equal((await show(as("ann"), forged)).status, 404);
        assert.equal((await sendForm(as("ann"), forged, html, { n: "x" })).status, 404);
        assert.deepEqual(effects.done, []);
      });
    });

    it("is an answer after the call has expired", () =>
      paged(async ({ host, browse, clock, effects }) => {
        const link = linkIn(textOf(await host.call("held")));
        const { html } = await show(browse, link);
        clock.advance(3_600_000);
        await until(() => effects.done.length === 1);
        const late = await sendForm(browse, link, html, { n: "late" });
        assert.ok(late.status === 410 || late.status === 404, String(late.status));
        assert.match(late.html, /no longer (open|available)/);
        assert.deepEqual(effects.done, ["cleaned up"]);
      }));
  });
}

describe("an answer that a modern client sends before it was asked", () => {
  const inputResponses = { n: { action: "accept", content: { n: "early" } } };
  const asks = (more: object) =>
    createMcpTool("ask").description("Asks.")
      .elicits({ n: { response: z.object({ n: z.string() }), ...more } })
      .execute(function* (_params, ctx) {
        const answer = yield* ctx.elicit("n", { message: "Which n?" });
        return answer.action === "accept" ? `${answer.content.n} via ${answer.via}` : answer.action;
      });
  const FORMS = { elicitation: { form: {} } };

  it("counts if the question is asked in a form", async () => {
    await servingEra("modern", { serve: [asks({})] }, async ({ fetch }) => {
      const client = new ModernClient(fetch, { capabilities: FORMS });
      assert.equal(textOf(await client.call("ask", {}, { inputResponses })), "early via form");
    });
  });

  const elsewhere: [string, object, object, string][] = [
    ["on a page, by a person", { by: "person" }, {}, "page"],
    ["on a page, because it is sensitive", { sensitive: ["n"] }, FORMS, "page"],
    ["on a page, because it has no other door", { doors: ["page"] }, FORMS, "page"],
    ["through the model", { doors: ["model"] }, {}, "model"],
  ];
  for (const [where, more, capabilities, door] of elsewhere) {
    it(`does not count if the question is asked ${where}`, async () => {
      const openBrowser = () => {};
      const options = { serve: [asks(more)], publicUrl: ORIGIN, openBrowser };
      await servingEra("modern", options, async ({ fetch }) => {
        const client = new ModernClient(fetch, { capabilities });
        const result = await client.call("ask", {}, { inputResponses });
        assert.equal(result.structuredContent?.questions[0].door, door, textOf(result));
      });
    });
  }
});
