import assert from "node:assert/strict";
import { createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { type Fetch, ORIGIN } from "../support/exchange.ts";
import { TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, type Result, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";

const who = { response: z.object({ name: z.string() }) };

const ask = createMcpTool("ask").description("Asks.").elicits({ who })
  .execute(function* (_params, ctx) {
    const name = yield* ctx.elicit("who", { message: "Who?" });
    return name.action === "accept" ? `${name.content.name} via ${name.via}` : name.action;
  });

const FORMS = { elicitation: { form: {} } };

for (const era of ERAS) {
  describe(`the doors of a server, in the ${era} era`, () => {
    it("are those that the operator allows", async () => {
      const options = { serve: [ask], publicUrl: ORIGIN, doors: ["form", "model"] as const };
      await servingEra(era, options, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const result = await host.call("ask");
        assert.equal(result.structuredContent.questions[0].door, "model");
      });
    });

    it("are those that the question allows", async () => {
      const pageOnly = createMcpTool("page_only").description("d")
        .elicits({ who: { ...who, doors: ["page"] } })
        .execute(function* (_params, ctx) {
          const name = yield* ctx.elicit("who", { message: "Who?" });
          return name.action;
        });
      const signedIn = createMcpTool("signed_in").description("d")
        .elicits({ who: { ...who, by: "signed-in" } })
        .requires({ elicitation: true })
        .execute(function* () {
          return "not reached";
        });
      const opened: string[] = [];
      const serve = [pageOnly, signedIn];
      await servingEra(era, { serve, publicUrl: ORIGIN }, async ({ fetch }) => {
        // A link in a result could be followed by a model with a shell.
        const plain = await connectHost(era, fetch);
        assert.match(textOf(await plain.call("page_only")), /--public-url/);
        const { error, result } = await plain.request("tools/call", { name: "signed_in" });
        assert.ok(error || result.isError);
      });
      const openBrowser = (url: string) => void opened.push(url);
      await servingEra(era, { serve, publicUrl: ORIGIN, openBrowser }, async ({ fetch }) => {
        const plain = await connectHost(era, fetch);
        ticketOf(await plain.call("page_only"));
        assert.equal(opened.length, 1);
      });
    });

    it("let the model that called answer samples, if the operator allows it", async () => {
      const poet = createMcpTool("poet").description("d").output(z.object({ said: z.string() }))
        .requires({ sampling: true })
        .execute(function* (_params, ctx) {
          const { text, via } = yield* ctx.sample({ prompt: "Rhyme!" });
          return { said: `${text} via ${via} (${ctx.sampledBy})` };
        });
      await servingEra(
        era,
        { serve: [poet], sampling: { byCaller: true } },
        async ({ fetch }) => {
          const host = await connectHost(era, fetch);
          const first = await host.call("poet");
          assert.match(textOf(first), /user: Rhyme!/);
          const last = await host.call("continue_call", {
            ticket: ticketOf(first),
            answer: "Time and lime.",
          });
          assert.equal(last.structuredContent.said, "Time and lime. via caller (caller)");
        },
      );
      await servingEra(era, { serve: [poet] }, async ({ fetch }) => {
        const { error, result } = await (await connectHost(era, fetch)).request("tools/call", {
          name: "poet",
        });
        assert.ok(error || result.isError);
      });
    });

    it("serve prompts: continue_call returns the messages as text", async () => {
      const hello = createMcpPrompt("hello").description("d").elicits({ who })
        .execute(function* (_params, ctx) {
          const name = yield* ctx.elicit("who", { message: "Who?" });
          return name.action === "accept" ? `Hello, ${name.content.name}!` : "Hello!";
        });
      await servingEra(era, { serve: [hello] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const { result } = await host.request("prompts/get", { name: "hello" });
        assert.equal(result.messages.length, 1);
        const { role, content: { text } } = result.messages[0];
        assert.equal(role, "user");
        const [, ticket] = /"ticket":"([^"]+)"/.exec(text)!;
        const last = await host.call("continue_call", { ticket, answer: "Ada" });
        assert.equal(textOf(last), "user: Hello, Ada!");
      });
    });

    it("do not defer a resource: the error names the page", async () => {
      const note = createMcpResource("note").uri("note://one").elicits({ who })
        .read(function* (_params, ctx) {
          const name = yield* ctx.elicit("who", { message: "Who?" });
          return name.action;
        });
      await servingEra(era, { serve: [note], publicUrl: ORIGIN }, async ({ fetch }) => {
        const host = await connectHost(era, fetch);
        const { error } = await host.request("resources/read", { uri: "note://one" });
        linkIn(error.message);
      });
    });

    it("show several questions at once, each answered by its key", async () => {
      const both = createMcpTool("both").description("d").elicits({ a: who, b: who })
        .execute(function* (_params, ctx) {
          const [a, b] = yield* ctx.branches([
            (branch) => branch.elicit("a", { message: "A?" }),
            (branch) => branch.elicit("b", { message: "B?" }),
          ]);
          return [a, b].map((one) => one.action === "accept" ? one.content.name : one.action)
            .join();
        });
      await servingEra(era, { serve: [both] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const calling = host.call("both");
        await idle();
        clock.advance(20);
        const first = await calling;
        const ticket = ticketOf(first);
        assert.deepEqual(
          first.structuredContent.questions.map(({ key }: { key: string }) => key),
          ["a", "b"],
        );
        const unclear = await host.call("continue_call", { ticket, answer: "x" });
        assert.equal(unclear.isError, true);
        const answering = host.call("continue_call", { ticket, key: "b", answer: "two" });
        await idle();
        clock.advance(20);
        const second = await answering;
        const last = await host.call("continue_call", {
          ticket: ticketOf(second),
          key: "a",
          answer: "one",
        });
        assert.equal(textOf(last), "one,two");
      });
    });
  });
}

describe("the option askPatience", () => {
  const options = { serve: [ask], publicUrl: ORIGIN, askPatience: 5_000 };

  it("also asks on a page if nobody answers a form", async () => {
    await servingEra("legacy", options, async ({ fetch, clock, parley }) => {
      const client = await TestClient.connect(fetch, { capabilities: FORMS });
      const call = await client.call("ask");
      await call.expect("elicitation/create");
      const rest = call.rest();
      await idle();
      clock.advance(5_000);
      const [{ result } = {}] = await rest;
      await answerPage(parley.fetch, linkIn(textOf(result)), { name: "Ada" });
      const next = await client.call("continue_call", { ticket: ticketOf(result) });
      assert.equal(await next.text(), "Ada via page");
    });
  });

  it("counts the first answer, also that of the form", async () => {
    await servingEra("legacy", options, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch, { capabilities: FORMS });
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      const rest = call.rest();
      await idle();
      clock.advance(5_000);
      const [{ result } = {}] = await rest;
      await client.answer(question, { action: "accept", content: { name: "Bob" } });
      const next = await client.call("continue_call", { ticket: ticketOf(result) });
      assert.equal(await next.text(), "Bob via form");
    });
  });

  describe("for a modern client", () => {
    /** Asks a modern client, and waits until the page was opened. */
    const asking = async (
      body: (server: {
        ask: (more?: object) => Promise<Result>;
        state: Result;
        opened: readonly string[];
        fetch: Fetch;
        clock: { advance(ms: number): void };
      }) => Promise<void>,
      more: object = {},
    ) => {
      const opened: string[] = [];
      const openBrowser = (url: string) => void opened.push(url);
      const all = { ...options, openBrowser, ...more };
      await servingEra("modern", all, async ({ fetch, clock, parley }) => {
        const client = new ModernClient(fetch, { capabilities: FORMS });
        const ask = async (more: object = {}) =>
          (await client.request("tools/call", { name: "ask", arguments: {}, ...more })).result;
        const { requestState, resultType } = await ask();
        assert.equal(resultType, "input_required");
        await body({ ask, state: { requestState }, opened, fetch: parley.fetch, clock });
      });
    };
    const given = { inputResponses: { who: { action: "accept", content: { name: "Bob" } } } };

    it("opens a page in the browser, and a late answer of the form does no harm", async () => {
      await asking(async ({ ask, state, opened, fetch, clock }) => {
        clock.advance(4_999);
        assert.deepEqual(opened, []);
        clock.advance(1);
        assert.equal(opened.length, 1);
        await answerPage(fetch, opened[0]!, { name: "Ada" });
        const late = await ask({ ...state, ...given });
        assert.equal(textOf(late), "Ada via page");
      });
    });

    it("counts the answer of the form, if it comes first", async () => {
      await asking(async ({ ask, state, opened, clock }) => {
        clock.advance(5_000);
        assert.equal(textOf(await ask({ ...state, ...given })), "Bob via form");
        assert.equal(opened.length, 1);
      });
      await asking(async ({ ask, state, opened, clock }) => {
        await ask({ ...state, ...given });
        clock.advance(5_000);
        assert.deepEqual(opened, []);
      });
    });

    it("gives the link to a client that asks for the state", async () => {
      await asking(async ({ ask, state, opened, clock }) => {
        clock.advance(5_000);
        assert.equal(linkIn(textOf(await ask(state))), opened[0]);
      });
    });

    it("opens nothing if no browser can be opened", async () => {
      await asking(async ({ ask, state, opened, clock }) => {
        clock.advance(5_000);
        assert.deepEqual(opened, []);
        assert.equal((await ask(state)).resultType, "input_required");
      }, { canOpenBrowser: () => false });
    });
  });
});
