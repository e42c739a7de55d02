/** Answers that meet: at two doors at the same moment, or with the end of their call. */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { HandStore } from "../support/hand-store.ts";
import { TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { idle, until } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { asking } from "./asking-tools.ts";
import { connectHost, ERAS, type Result, servingEra, textOf, ticketOf } from "./host.ts";
import { linkIn, postForm, sendForm, show } from "./page.ts";

describe("a question that is answered at two doors at the same moment", () => {
  const FORMS = { capabilities: { elicitation: { form: {} } } };
  const forms = { action: "accept", content: { n: "form" } };

  /** One of both answers counts. The page says whether it was its own. */
  async function judged(done: readonly string[], response: Response): Promise<void> {
    assert.equal(done.length, 1);
    if (response.status === 303) assert.deepEqual(done, ["page"]);
    else {
      assert.deepEqual([response.status, ...done], [409, "form"]);
      assert.match(await response.text(), /was not sent.*answered already/s);
    }
  }

  for (const first of ["form", "page"] as const) {
    it(`counts one of them in the legacy era, if the ${first} sends first`, async () => {
      const { serve, done } = asking();
      const options = { serve, publicUrl: ORIGIN, askPatience: 5_000 };
      await servingEra("legacy", options, async ({ fetch, clock, parley: { fetch: browse } }) => {
        const client = await TestClient.connect(fetch, FORMS);
        const call = await client.call("twice");
        const question = await call.expect("elicitation/create");
        const rest = call.rest();
        await idle();
        clock.advance(5_000);
        const [{ result } = {}] = await rest;
        const link = linkIn(textOf(result));
        const { html } = await show(browse, link);
        const answers = [
          () => client.answer(question, forms),
          () => postForm(browse, link, html, { n: "page" }),
        ];
        if (first === "page") answers.reverse();
        const responses = await Promise.all(answers.map((answer) => answer()));
        await judged(done, responses[first === "page" ? 0 : 1]!);
        // The late answer of the form is accepted as a message, and ignored.
        assert.equal(responses[first === "page" ? 1 : 0]!.status, 202);
        const ticket = ticketOf(result);
        await (await client.call("continue_call", { ticket, cancel: true })).rest();
      });
    });

    it(`counts one of them in the modern era, if the ${first} sends first`, async () => {
      const { serve, done } = asking();
      const opened: string[] = [];
      const openBrowser = (url: string) => void opened.push(url);
      const options = { serve, publicUrl: ORIGIN, askPatience: 5_000, openBrowser };
      await servingEra("modern", options, async ({ fetch, clock, parley: { fetch: browse } }) => {
        const client = new ModernClient(fetch, FORMS);
        const { requestState, inputRequests } = await client.call("twice");
        await idle();
        clock.advance(5_000);
        const [link] = opened as [string];
        const { html } = await show(browse, link);
        const [key] = Object.keys(inputRequests) as [string];
        let posted!: Response;
        const answers = [
          () => client.call("twice", {}, { requestState, inputResponses: { [key]: forms } }),
          async () => {
            posted = await postForm(browse, link, html, { n: "page" });
          },
        ];
        if (first === "page") answers.reverse();
        const [one, two] = await Promise.all(answers.map((answer) => answer()));
        await judged(done, posted);
        // The client's retry goes on with the second question, whose form it gets.
        const next: Result = one ?? two;
        assert.equal(next.resultType, "input_required");
      });
    });
  }
});

describe("a call that is cancelled while the page of its question is open", () => {
  const URLS = { capabilities: { elicitation: { url: {} } } };

  it("ends by notifications/cancelled in the legacy era, and the page says so", async () => {
    const effects = asking();
    const options = { serve: effects.serve, publicUrl: ORIGIN };
    await servingEra("legacy", options, async ({ fetch, parley: { fetch: browse } }) => {
      const client = await TestClient.connect(fetch, URLS);
      const call = await client.call("held");
      const { params: { url } } = await call.expect("elicitation/create");
      const { html } = await show(browse, url);
      await client.notify("notifications/cancelled", { requestId: call.id });
      await until(() => effects.done.length === 1);
      const late = await sendForm(browse, url, html, { n: "late" });
      assert.equal(late.status, 410);
      assert.match(late.html, /cancelled.*Nothing was sent/s);
      assert.deepEqual(effects.done, ["cleaned up"]);
    });
  });

  it("ends with its session in the legacy era", async () => {
    const effects = asking();
    const options = { serve: effects.serve, publicUrl: ORIGIN };
    await servingEra("legacy", options, async ({ fetch, parley: { fetch: browse } }) => {
      const client = await TestClient.connect(fetch, URLS);
      const call = await client.call("held");
      const { params: { url } } = await call.expect("elicitation/create");
      const { html } = await show(browse, url);
      await client.end();
      await until(() => effects.done.length === 1);
      assert.equal((await sendForm(browse, url, html, { n: "late" })).status, 410);
    });
  });

  it("continues if a modern client stops waiting, because the client can come back", async () => {
    const effects = asking();
    const options = { serve: effects.serve, publicUrl: ORIGIN };
    await servingEra("modern", options, async ({ fetch, parley: { fetch: browse } }) => {
      const client = new ModernClient(fetch, URLS);
      const { requestState, inputRequests } = await client.call("held");
      const [[key, { params: { url } }]] = Object.entries<Result>(inputRequests) as Result;
      const { html } = await show(browse, url);
      const inputResponses = { [key]: { action: "accept" } };
      const retry = { name: "held", arguments: {}, requestState, inputResponses };
      const leaving = new AbortController();
      const waiting = client.start("tools/call", retry, { signal: leaving.signal });
      await idle();
      leaving.abort();
      assert.equal((await waiting).status, 499);
      assert.deepEqual(effects.done, []);
      assert.match((await sendForm(browse, url, html, { n: "1" })).html, /Your answer was sent/);
      const result = await client.call("held", {}, { requestState, inputResponses });
      assert.equal(textOf(result), "accept");
      assert.deepEqual(effects.done, ["cleaned up"]);
    });
  });

  for (const era of ERAS) {
    it(`ends by continue_call, in the ${era} era`, async () => {
      const effects = asking();
      const options = { serve: effects.serve, publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const deferral = await host.call("held");
        const link = linkIn(textOf(deferral));
        const { html } = await show(browse, link);
        await host.call("continue_call", { ticket: ticketOf(deferral), cancel: true });
        assert.deepEqual(effects.done, ["cleaned up"]);
        assert.equal((await sendForm(browse, link, html, { n: "late" })).status, 410);
      });
    });
  }
});

describe("an answer to a question that is still being recorded", () => {
  it("does not count: the client has not been asked, and the question is for a page", async () => {
    const store = new HandStore();
    const release = async () => {
      for (const { commit } of store.commits.splice(0)) commit();
      await idle();
    };
    const n = z.object({ n: z.string() });
    const ask = createMcpTool("ask").description("Asks.").durable()
      .elicits({ one: { response: n }, two: { response: n, doors: ["page"] } })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("one", { message: "One?" });
        const two = yield* ctx.elicit("two", { message: "Two?" });
        return two.action === "accept" ? `${two.content.n} via ${two.via}` : two.action;
      });
    const options = { serve: [ask], publicUrl: ORIGIN, store, openBrowser: () => {} };
    await servingEra("legacy", options, async ({ fetch, parley: { fetch: browse } }) => {
      const client = await TestClient.connect(fetch, {
        capabilities: { elicitation: { form: {} } },
      });
      const calling = client.call("ask");
      await idle();
      await release();
      const call = await calling;
      const one = await call.expect("elicitation/create");
      const answering = client.answer(one, { action: "accept", content: { n: "1" } });
      await idle();
      await release();
      assert.equal((await answering).status, 202);
      // The second question waits for the store. Its id can be guessed.
      assert.equal(store.commits.length, 1);
      const id = String(one.id).replace(/1$/, "2");
      assert.equal((store.commits[0]!.events[0] as { id?: string }).id, id);
      const forged = { action: "accept", content: { n: "forged" } };
      const early = await client.answer({ ...one, id }, forged);
      assert.equal(early.status, 400);
      await release();
      const { result } = (await call.rest()).at(-1)!;
      const link = linkIn(textOf(result));
      const { html } = await show(browse, link);
      const posting = postForm(browse, link, html, { n: "page" });
      await idle();
      await release();
      await release();
      assert.equal((await posting).status, 303);
      const continuing = client.call("continue_call", { ticket: ticketOf(result) });
      await idle();
      await release();
      assert.equal(await (await continuing).text(), "page via page");
    });
  });
});
