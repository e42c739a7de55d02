/** `answer.via` and `answer.elapsed`, for every door. */
import assert from "node:assert/strict";
import { until } from "effection";
import { join } from "node:path";
import { createManualClock, createMcpTool, type SamplingProvider, testTool } from "parley-mcp";
import { root } from "../harness/files.ts";
import { describe, it } from "../suite.ts";
import { ORIGIN } from "../support/exchange.ts";
import { living } from "../support/life.ts";
import { exitCode, KEYS, terminalAbsence, useTerminal } from "../support/pty.ts";
import { idle } from "../support/turn.ts";
import { connectHost, ERAS, servingEra, textOf, ticketOf } from "./host.ts";
import { how } from "./how-tools.ts";
import { answerPage, linkIn } from "./page.ts";

const APPS = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};
const content = { n: "1" };
const SAID = { role: "assistant", content: { type: "text", text: "x" }, model: "m" } as const;

for (const era of ERAS) {
  describe(`how an answer came, in the ${era} era`, () => {
    it('is "form" for the client\'s form', async () => {
      await servingEra(era, { serve: [how] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { form: {} } },
          answer() {
            clock.advance(1_234);
            return { action: "accept", content };
          },
        });
        assert.equal(textOf(await host.call("how")), "form after 1234 ms");
      });
    });

    it('is "app" for a view', async () => {
      await servingEra(era, { serve: [how] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, { capabilities: APPS });
        const calling = host.call("how");
        await idle();
        clock.advance(2_000);
        const deferral = await calling;
        const { secret, question } = deferral._meta["parley/ask"];
        clock.advance(500);
        const answer = { question: question.id, action: "accept", content };
        await host.call("answer_call", { secret, answer });
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "app after 2500 ms");
      });
    });

    it('is "page" for a page', async () => {
      const options = { serve: [how], publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, clock, parley }) => {
        const host = await connectHost(era, fetch);
        const deferral = await host.call("how");
        clock.advance(60_000);
        await answerPage(parley.fetch, linkIn(textOf(deferral)), content);
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.equal(textOf(result), "page after 60000 ms");
      });
    });

    it('is "page" for a page that the client opens, not "form"', async () => {
      const options = { serve: [how], publicUrl: ORIGIN };
      await servingEra(era, options, async ({ fetch, clock, parley }) => {
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { url: {} } },
          async answer({ params }) {
            clock.advance(700);
            await answerPage(parley.fetch, params.url, content);
            return { action: "accept" };
          },
        });
        assert.equal(textOf(await host.call("how")), "page after 700 ms");
      });
    });

    it('is "model" for an answer that the model passes on', async () => {
      await servingEra(era, { serve: [how] }, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch);
        const deferral = await host.call("how");
        clock.advance(90_000);
        const ticket = ticketOf(deferral);
        const result = await host.call("continue_call", { ticket, answer: content });
        assert.equal(textOf(result), "model after 90000 ms");
      });
    });

    it("counts the time while no server ran, and is recorded", async () => {
      const clock = createManualClock();
      await living({ serve: [how], clock }, async (life) => {
        await life.start();
        const browse = (request: Request) => life.parley.fetch(request);
        const ticket = ticketOf(await (await connectHost(era, browse)).call("how"));
        await life.stop();
        clock.advance(3_000);
        await life.start();
        const args = { ticket, answer: content };
        const result = await (await connectHost(era, browse)).call("continue_call", args);
        assert.equal(textOf(result), "model after 3000 ms");
        await life.start();
        const again = await (await connectHost(era, browse)).call("continue_call", { ticket });
        assert.equal(textOf(again), "model after 3000 ms");
      });
    });

    const poet = createMcpTool("poet").description("Rhymes.").execute(function* (_params, ctx) {
      const { via } = yield* ctx.sample({ prompt: "Rhyme!" });
      return via;
    });

    it('is "client" for a sample of the client\'s model', async () => {
      await servingEra(era, { serve: [poet] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch, {
          capabilities: { sampling: {} },
          answer: () => SAID,
        });
        assert.equal(textOf(await host.call("poet")), "client");
      });
    });

    it('is "server" for a sample of the server\'s own model', async () => {
      const provider: SamplingProvider = { name: "own", sample: () => Promise.resolve(SAID) };
      const sampling = { provider };
      await servingEra(era, { serve: [poet], sampling }, async ({ fetch }) => {
        assert.equal(textOf(await (await connectHost(era, fetch)).call("poet")), "server");
      });
    });
  });
}

describe("how an answer came without a server", () => {
  it('is "form" in testTool, after the time that the test let pass', async () => {
    const clock = createManualClock();
    const run = await testTool(how, {}, {
      clock,
      elicit: {
        n() {
          clock.advance(40);
          return { action: "accept", content };
        },
      },
    });
    assert.equal(run.text, "form after 40 ms");
  });

  const inTerminal = it.unless(terminalAbsence);
  inTerminal('is "terminal" in parley call', function* () {
    const tools = join(root, "tests/doors/how-tools.ts");
    const terminal = yield* useTerminal(["call", "how", "{}", tools]);
    yield* until(terminal.shows(/Your n/));
    terminal.type(`1${KEYS.enter}`);
    yield* until(terminal.shows(/terminal after \d+ ms/));
    assert.equal(yield* exitCode(terminal), 0);
  });
});
