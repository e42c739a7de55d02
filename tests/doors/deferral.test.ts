/** Calls that go on after their request has ended with a deferral. */
import assert from "node:assert/strict";
import {
  createManualClock,
  createMcpPrompt,
  createMcpTool,
  createParley,
  DefinitionError,
  Sealer,
} from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { TestClient } from "../support/legacy/client.ts";
import { living } from "../support/life.ts";
import { accept, said, TestClient as ModernClient } from "../support/modern/client.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { asking } from "./asking-tools.ts";
import { connectHost, ERAS, type Result, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn, postForm, show } from "./page.ts";

const FORMS = { elicitation: { form: {} } };
const secret = z.object({ pin: z.string() });

/** Asks for a name anywhere and for a secret on a page, at the same time. */
const mixed = createMcpTool("mixed").description("Asks at two doors.")
  .elicits({
    name: { response: z.object({ name: z.string() }) },
    pin: { response: secret, sensitive: ["pin"] },
  })
  .execute(function* (_params, ctx) {
    const [name, pin] = yield* ctx.branches([
      (branch) => branch.elicit("name", { message: "Your name?" }),
      (branch) => branch.elicit("pin", { message: "Your pin?" }),
    ]);
    return [name, pin].map((one) => one.action === "accept" ? one.via : one.action).join();
  });

/** Asks on a page, and then the client's model. */
const poem = createMcpTool("poem").description("Writes a poem.")
  .elicits({ theme: { response: z.object({ theme: z.string() }) } })
  .requires({ sampling: true })
  .execute(function* (_params, ctx) {
    const theme = yield* ctx.elicit("theme", { message: "What about?" });
    const about = theme.action === "accept" ? theme.content.theme : "nothing";
    const { text, via } = yield* ctx.sample({ prompt: `A poem about ${about}` });
    return `${text} (${via})`;
  });

for (const era of ERAS) {
  describe(`a deferred call, in the ${era} era`, () => {
    it("does not end if the request of continue_call is cancelled", async () => {
      const { serve, done } = asking();
      await servingEra(era, { serve, publicUrl: ORIGIN }, async ({ fetch, parley, clock }) => {
        const first = await (await connectHost(era, fetch)).call("held");
        const ticket = ticketOf(first);
        if (era === "legacy") {
          const client = await TestClient.connect(fetch);
          const waiting = await client.call("continue_call", { ticket }, { progressToken: "p" });
          await client.notify("notifications/cancelled", { requestId: waiting.id });
          await idle();
          await waiting.response.body?.cancel();
        } else {
          const leaving = new AbortController();
          const params = { name: "continue_call", arguments: { ticket } };
          const waiting = new ModernClient(fetch, { capabilities: {} })
            .start("tools/call", params, { signal: leaving.signal });
          await idle();
          leaving.abort();
          await (await waiting).response.body?.cancel();
        }
        await idle();
        assert.deepEqual(done, []);
        assert.equal(parley.counts.live, 1);
        await answerPage(parley.fetch, linkIn(textOf(first)), { n: "1" });
        const host = await connectHost(era, fetch);
        assert.equal(textOf(await host.call("continue_call", { ticket })), "accept");
        clock.advance(1);
      });
    });

    it("is deferred only when no open question can travel on its request", async () => {
      const options = { serve: [mixed], publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, clock, parley: { fetch: browse } }) => {
        const asked: string[] = [];
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer({ params }) {
            asked.push(params.message);
            return accept({ name: "Ada" });
          },
        });
        const calling = host.call("mixed");
        await idle();
        clock.advance(20);
        await idle();
        clock.advance(20);
        const deferral = await calling;
        assert.deepEqual(asked, ["Your name?"]);
        const { questions } = deferral.structuredContent;
        assert.deepEqual(questions, [{ key: "pin", door: "page", message: "Your pin?" }]);
        await answerPage(browse, linkIn(textOf(deferral)), { pin: "1234" });
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "form,page");
      });
    });

    it("asks the client's model while continue_call is open, and not before", async () => {
      const options = { serve: [poem], publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, parley }) => {
        const asked: string[] = [];
        const host = await connectHost(era, fetch, {
          capabilities: { sampling: {} },
          answer({ method }) {
            asked.push(method);
            return said("Roses");
          },
        });
        const deferral = await host.call("poem");
        const link = linkIn(textOf(deferral));
        const { html } = await show(parley.fetch, link);
        await postForm(parley.fetch, link, html, { theme: "roses" });
        await idle();
        assert.deepEqual(asked, []);
        assert.equal(parley.counts.live, 1);
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "Roses (client)");
        assert.deepEqual(asked, ["sampling/createMessage"]);
      });
    });

    it("can be a prompt: its message has the link, and continue_call returns its messages", async () => {
      const greet = createMcpPrompt("greet").description("Greets.")
        .elicits({ name: { response: z.object({ name: z.string() }), by: "person" } })
        .execute(function* (_params, ctx) {
          const name = yield* ctx.elicit("name", { message: "Your name?" });
          return name.action === "accept" ? `Greet ${name.content.name}, ${name.via}` : "Greet me";
        });
      const options = { serve: [greet], publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, parley: { fetch: browse } }) => {
        const host = await connectHost(era, fetch);
        const { result } = await host.request("prompts/get", { name: "greet" });
        const [{ role, content: { text } }, ...others] = result.messages;
        assert.deepEqual([role, others], ["user", []]);
        await answerPage(browse, linkIn(text), { name: "Ada" });
        const [, ticket] = /"ticket":"([^"]+)"/.exec(text)!;
        const last = await host.call("continue_call", { ticket });
        assert.equal(textOf(last), "user: Greet Ada, page");
      });
    });

    it("is kept for as long as the server keeps durable calls", async () => {
      const clock = createManualClock();
      const limits = { durableTimeToLive: 3 * 86_400_000 };
      const ask = createMcpTool("ask").description("Asks.").durable()
        .elicits({ n: { response: z.object({ n: z.string() }) } })
        .execute(function* (_params, ctx) {
          return (yield* ctx.elicit("n", { message: "Which n?" })).action;
        });
      await living({ serve: [ask], clock, limits }, async (life) => {
        await life.start();
        const host = () => connectHost(era, (request) => life.parley.fetch(request));
        const [one, two] = [
          ticketOf(await (await host()).call("ask")),
          ticketOf(await (await host()).call("ask")),
        ];
        clock.advance(2 * 86_400_000);
        const answer = { n: "1" };
        const kept = await (await host()).call("continue_call", { ticket: one, answer });
        assert.equal(textOf(kept), "accept");
        clock.advance(86_400_000);
        await life.start();
        const gone = await (await host()).call("continue_call", { ticket: two, answer });
        assert.match(textOf(gone), /no longer exists; call the tool again/);
      });
    });
  });
}

describe("a deferred call, in the legacy era", () => {
  it("does not end with its session, or if its first request is cancelled", async () => {
    const { serve, done } = asking();
    await servingEra("legacy", { serve }, async ({ fetch, parley }) => {
      const client = await TestClient.connect(fetch);
      const calls = [await client.call("held"), await client.call("held")];
      const tickets = [];
      for (const call of calls) tickets.push(ticketOf((await call.rest()).at(-1)!.result));
      await client.notify("notifications/cancelled", { requestId: calls[0]!.id });
      await client.end();
      await idle();
      assert.deepEqual(done, []);
      assert.equal(parley.counts.live, 2);
      const other = await connectHost("legacy", fetch);
      for (const ticket of tickets) {
        const result = await other.call("continue_call", { ticket, answer: { n: "1" } });
        assert.equal(textOf(result), "accept");
      }
    });
  });
});

describe("a deferred call whose legacy session expires", () => {
  it("goes on with its ticket", async () => {
    const { serve, done } = asking();
    const limits = { clientSessionTimeToLive: 60_000 };
    await servingEra("legacy", { serve, limits }, async ({ fetch, parley, clock }) => {
      const client = await TestClient.connect(fetch);
      const call = await client.call("held");
      const ticket = ticketOf((await call.rest()).at(-1)!.result);
      clock.advance(600_000);
      await idle();
      assert.equal(parley.counts.clientSessions, 0);
      assert.deepEqual(done, []);
      const other = await connectHost("legacy", fetch);
      const result = await other.call("continue_call", { ticket, answer: { n: "1" } });
      assert.equal(textOf(result), "accept");
    });
  });
});

describe("a deferred call, in the modern era", () => {
  it("is the reply to an old retry that is repeated", async () => {
    const options = { serve: [mixed], publicUrl: ORIGIN };
    await servingEra("modern", options, async ({ fetch, clock }) => {
      const client = new ModernClient(fetch, { capabilities: FORMS });
      const calling = client.call("mixed");
      await idle();
      clock.advance(20);
      const { requestState, inputRequests } = await calling;
      const [key] = Object.keys(inputRequests) as [string];
      const retry = { requestState, inputResponses: { [key]: accept({ name: "Ada" }) } };
      const deferral = async () => {
        const retrying: Promise<Result> = client.call("mixed", {}, retry);
        await idle();
        clock.advance(20);
        return await retrying;
      };
      const first = await deferral();
      const again = await deferral();
      ticketOf(first);
      assert.deepEqual(
        again.structuredContent.questions,
        first.structuredContent.questions,
      );
      assert.equal(linkIn(textOf(again)), linkIn(textOf(first)));
    });
  });

  it("stays on its server, although the server seals the state of calls", async () => {
    const ask = createMcpTool("ask").description("Asks.").durable({ sealed: true })
      .elicits({ n: { response: z.object({ n: z.string() }) } })
      .execute(function* (_params, ctx) {
        return (yield* ctx.elicit("n", { message: "Which n?" })).action;
      });
    const sealer = new Sealer("a key that servers share");
    const [one, two] = [1, 2].map(() => createParley({ serve: [ask], sealer, state: "sealed" }));
    const ticket = ticketOf(await (await connectHost("modern", one!.fetch)).call("ask"));
    const args = { ticket, answer: { n: "1" } };
    const elsewhere = await (await connectHost("modern", two!.fetch)).call("continue_call", args);
    assert.equal(elsewhere.isError, true);
    const here = await (await connectHost("modern", one!.fetch)).call("continue_call", args);
    assert.equal(textOf(here), "accept");
    await one!.close();
    await two!.close();
  });
});

describe("the tools that continue calls", () => {
  it("have names that authors cannot use", () => {
    for (const name of ["continue_call", "answer_call"]) {
      assert.throws(() =>
        createMcpTool(name).description("d").execute(function* () {
          return "";
        }), DefinitionError);
    }
  });
});
