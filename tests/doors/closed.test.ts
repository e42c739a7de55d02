import assert from "node:assert/strict";
import { createMcpTool, type ElicitRequest, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { readText } from "../harness/files.ts";
import { ClosedDoors } from "../../src/server/doors/closed-doors.ts";
import { KNOWN_CLIENTS } from "../../src/server/doors/known-clients.ts";
import { ORIGIN } from "../support/exchange.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, type Host, servingEra, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";
import { connectStdio } from "./stdio.ts";

const ask = createMcpTool("ask").description("Asks.")
  .output(z.object({ said: z.string() }))
  .elicits({ name: { response: z.object({ name: z.string() }) } })
  .execute(function* (_params, ctx) {
    const name = yield* ctx.elicit("name", { message: "Who?" });
    return {
      said: name.action === "accept" ? `${name.content.name} via ${name.via}` : name.action,
    };
  });

const name = { response: z.object({ name: z.string() }) };
const twice = createMcpTool("twice").description("Asks twice.")
  .output(z.object({ said: z.string() }))
  .elicits({ one: name, two: name })
  .execute(function* (_params, ctx) {
    const one = yield* ctx.elicit("one", { message: "Who?" });
    const two = yield* ctx.elicit("two", { message: "Who else?" });
    return { said: `${one.action}, ${two.action}` };
  });

const visit = createMcpTool("visit").description("Sends the person to a page.")
  .output(z.object({ said: z.string() }))
  .execute(function* (_params, ctx) {
    const { action } = yield* ctx.elicitUrl({ message: "Sign in", url: "https://example.com/" });
    return { said: action };
  });

const FORMS = { elicitation: { form: {} } };
const SERVED = { serve: [ask], publicUrl: ORIGIN };
const decline = () => ({ action: "decline" });

for (const era of ERAS) {
  describe(`a door that is closed, in the ${era} era`, () => {
    it("is left after the second refusal that no person can have made", async () => {
      await servingEra(era, { ...SERVED, principal: () => "ann" }, async ({ fetch, parley }) => {
        const host = await connectHost(era, fetch, { capabilities: FORMS, answer: decline });
        assert.equal((await host.call("ask")).structuredContent.said, "decline");
        const second = await host.call("ask");
        assert.match(textOf(second), /answer on a page/);
        const ticket = ticketOf(second);
        await answerPage(parley.fetch, linkIn(textOf(second)), { name: "Ada" });
        const result = await host.call("continue_call", { ticket });
        assert.equal(result.structuredContent.said, "Ada via page");
        // It is remembered: the form is not tried again.
        ticketOf(await host.call("ask"));
      });
    });

    it("stays open for other callers, named or not", async () => {
      for (const named of [true, false]) {
        const principal = (request: Request) => request.headers.get("x-caller") ?? "";
        await servingEra(era, { ...SERVED, ...(named && { principal }) }, async ({ fetch }) => {
          const capabilities = FORMS;
          const caller = (name: string) => ({ "x-caller": name });
          const rude = await connectHost(era, fetch, {
            capabilities,
            answer: () => ({ action: "accept", content: {} }),
            headers: caller("bob"),
          });
          for (let i = 0; i < 2; i++) ticketOf(await rude.call("ask"));
          const host = await connectHost(era, fetch, {
            capabilities,
            answer: () => ({ action: "accept", content: { name: "Ada" } }),
            headers: caller("ann"),
          });
          assert.equal((await host.call("ask")).structuredContent.said, "Ada via form");
        });
      }
    });

    it("is remembered of an anonymous caller for its session or its run", async () => {
      await servingEra(era, { ...SERVED, serve: [ask, twice] }, async ({ fetch }) => {
        let asked = 0;
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer() {
            asked++;
            return { action: "decline" };
          },
        });
        // The second refusal in the run closes the form.
        ticketOf(await host.call("twice"));
        assert.equal(asked, 2);
        const next = await host.call("ask");
        if (era === "legacy") ticketOf(next);
        else assert.equal(next.structuredContent.said, "decline");
        assert.equal(asked, era === "legacy" ? 2 : 3);
      });
    });

    it("is remembered on a private channel", async () => {
      await servingEra(era, SERVED, async ({ parley }) => {
        let asked = 0;
        const host = await connectStdio(era, parley, {
          capabilities: FORMS,
          answer() {
            asked++;
            return { action: "decline" };
          },
        });
        try {
          assert.equal((await host.call("ask")).structuredContent.said, "decline");
          for (let i = 0; i < 2; i++) ticketOf(await host.call("ask"));
          assert.equal(asked, 2);
        } finally {
          await host.close();
        }
      });
    });

    it("is not closed by refusing to visit a URL", async () => {
      const principal = () => "ann";
      await servingEra(era, { ...SERVED, serve: [ask, visit], principal }, async ({ fetch }) => {
        const host = await connectHost(era, fetch, {
          capabilities: { elicitation: { form: {}, url: {} } },
          answer: ({ params }) =>
            params.mode === "url"
              ? { action: "decline" }
              : { action: "accept", content: { name: "Ada" } },
        });
        for (let i = 0; i < 3; i++) {
          assert.equal((await host.call("visit")).structuredContent.said, "decline");
        }
        assert.equal((await host.call("ask")).structuredContent.said, "Ada via form");
      });
    });

    it("is left immediately if the client is known to refuse forms that nobody has seen", async () => {
      await servingEra(era, SERVED, async ({ fetch }) => {
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer: decline,
          name: "claude-code",
        });
        assert.match(textOf(await host.call("ask")), /answer on a page/);
      });
    });

    it("is not tried if the client is known to hide such a form", async () => {
      const count = createMcpTool("count").description("Asks for a number.")
        .output(z.object({ said: z.string() }))
        .elicits({ how: { response: z.object({ many: z.number() }) } })
        .execute(function* (_params, ctx) {
          const how = yield* ctx.elicit("how", { message: "How many?" });
          return { said: how.action === "accept" ? `${how.content.many} via ${how.via}` : "none" };
        });
      const tools = { serve: [ask, count], publicUrl: ORIGIN };
      const hosted = async (
        name: string,
        options: ParleyOptions,
        body: (host: Host, asked: () => number) => Promise<void>,
      ) => {
        await servingEra(era, options, async ({ fetch }) => {
          let asked = 0;
          const answer = () => {
            asked++;
            return { action: "accept", content: { name: "Ada", many: 3 } };
          };
          const host = await connectHost(era, fetch, { capabilities: FORMS, name, answer });
          await body(host, () => asked);
        });
      };
      await hosted("codex-mcp-client", tools, async (host, asked) => {
        assert.match(textOf(await host.call("count")), /answer on a page/);
        assert.equal(asked(), 0);
        assert.equal((await host.call("ask")).structuredContent.said, "Ada via form");
      });
      await hosted("Claude Desktop", tools, async (host, asked) => {
        assert.match(textOf(await host.call("ask")), /answer on a page/);
        assert.equal(asked(), 0);
      });
      // A form that may be hidden is better than no way to ask.
      await hosted("Claude Desktop", { ...tools, doors: ["form"] }, async (host) => {
        assert.equal((await host.call("ask")).structuredContent.said, "Ada via form");
      });
    });

    it("never moves a refused question to the model: without another door, the refusal counts", async () => {
      await servingEra(era, { serve: [ask] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer: decline,
          name: "claude-code",
        });
        assert.equal((await host.call("ask")).structuredContent.said, "decline");
      });
    });

    it("is not closed by a person who refuses", async () => {
      await servingEra(era, SERVED, async ({ fetch, clock }) => {
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          name: "claude-code",
          answer() {
            clock.advance(2_000);
            return { action: "decline" };
          },
        });
        for (let i = 0; i < 3; i++) {
          assert.equal((await host.call("ask")).structuredContent.said, "decline");
        }
      });
    });

    it("is not closed if an answer was accepted in between", async () => {
      await servingEra(era, SERVED, async ({ fetch }) => {
        let asked = 0;
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer: () =>
            ++asked % 2 === 0
              ? { action: "accept", content: { name: "Ada" } }
              : { action: "decline" },
        });
        for (const said of ["decline", "Ada via form", "decline", "Ada via form"]) {
          assert.equal((await host.call("ask")).structuredContent.said, said);
        }
      });
    });

    it("is left immediately if a form with required fields comes back empty", async () => {
      await servingEra(era, { serve: [ask] }, async ({ fetch }) => {
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer: () => ({ action: "accept", content: {} }),
        });
        const ticket = ticketOf(await host.call("ask"));
        const result = await host.call("continue_call", { ticket, answer: "Ada" });
        assert.equal(result.structuredContent.said, "Ada via model");
      });
    });

    it("is left after four answers that do not fit", async () => {
      await servingEra(era, { serve: [ask] }, async ({ fetch }) => {
        let asked = 0;
        const host = await connectHost(era, fetch, {
          capabilities: FORMS,
          answer() {
            asked++;
            return { action: "accept", content: { name: 7 } };
          },
        });
        ticketOf(await host.call("ask"));
        assert.equal(asked, 4);
      });
    });
  });
}

describe("the doors that are remembered as closed", () => {
  it("are not forgotten because another caller names many clients", () => {
    const doors = new ClosedDoors(() => true);
    const caller = (principal: string, version: string) => ({
      principal,
      client: { name: "c", version, capabilities: {} },
    });
    const request = {
      params: { mode: "form", requestedSchema: { required: ["name"] } },
    } as unknown as ElicitRequest;
    const close = (principal: string, version: string) =>
      doors.isUnseen(caller(principal, version), request, { action: "accept", content: {} }, 0);
    close("ann", "1");
    for (let i = 0; i < 2_000; i++) close("bob", `${i}`);
    assert.equal(doors.has(caller("ann", "1"), "form"), true);
    assert.equal(doors.has(caller("bob", "0"), "form"), false);
    assert.equal(doors.has(caller("bob", "1999"), "form"), true);
  });
});

describe("the known clients", () => {
  it("are in docs/clients.md, each with its source", () => {
    const docs = readText("docs/clients.md");
    for (const { client, declares, shows, deadline, source } of KNOWN_CLIENTS) {
      const row = docs.split("\n").map((line) => line.replace(/ +\| ?/g, " | ").trim())
        .find((line) => line.startsWith(`| ${client} |`) && line.includes(source));
      assert.equal(row, `| ${client} | ${declares} | ${shows} | ${deadline} | ${source} |`);
    }
  });
});
