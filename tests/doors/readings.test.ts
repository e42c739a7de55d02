/** A resource that asks: its error names the page, and a read after the answer gives the text. */
import assert from "node:assert/strict";
import { createMcpResource, createMcpTool, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { type Fetch, ORIGIN } from "../support/exchange.ts";
import { TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, type Era, ERAS, type Host, servingEra, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";
import { connectStdio } from "./stdio.ts";

const who = { response: z.object({ name: z.string() }) };

/** A resource that counts its runs. */
function note(): Required<Pick<ParleyOptions, "serve">> & { readonly runs: () => number } {
  let runs = 0;
  const one = createMcpResource("note").uri("note://{name}").elicits({ who })
    .read(function* ({ name }, ctx) {
      runs++;
      const answer = yield* ctx.elicit("who", { message: "Who?" });
      return answer.action === "accept" ? `${name} for ${answer.content.name}` : answer.action;
    });
  const tool = createMcpTool("note").description("Asks, too.").elicits({ who })
    .execute(function* (_params, ctx) {
      const answer = yield* ctx.elicit("who", { message: "Who?" });
      return answer.action;
    });
  return { serve: [one, tool], runs: () => runs };
}

const URI = "note://one";

async function refused(host: Host, uri = URI): Promise<string> {
  const { error, result } = await host.request("resources/read", { uri });
  assert.ok(error, JSON.stringify(result));
  return error.message;
}

async function read(host: Host, uri = URI): Promise<string> {
  const { error, result } = await host.request("resources/read", { uri });
  assert.ok(result, JSON.stringify(error));
  assert.equal(result.contents[0].uri, uri.replace(/#.*/, ""));
  return result.contents[0].text;
}

const principal = (request: Request) => request.headers.get("x-user") ?? "nobody";
/** The page is opened by the caller, who is signed in. */
const browser = (fetch: Fetch): Fetch => (request) => {
  request.headers.set("x-user", "ann");
  return fetch(request);
};
const as = (user: string) => ({ headers: { "x-user": user } });

/** Reads as Ann, and gives up. */
async function cancelRead(era: Era, fetch: Fetch): Promise<void> {
  const options = { capabilities: {}, ...as("ann") };
  if (era === "legacy") {
    const client = await TestClient.connect(fetch, options);
    const reading = await client.start("resources/read", { uri: URI });
    await client.notify("notifications/cancelled", { requestId: reading.id });
    await reading.rest();
  } else {
    const giveUp = new AbortController();
    const client = new ModernClient(fetch, options);
    const { signal } = giveUp;
    const reading = client.start("resources/read", { uri: URI }, { signal });
    await idle();
    giveUp.abort();
    await reading.catch(() => {});
  }
}

for (const era of ERAS) {
  describe(`a resource that asks, in the ${era} era`, () => {
    it("is the same run when it is read again, and gives its text after the answer", async () => {
      const { serve, runs } = note();
      const options = { serve, publicUrl: ORIGIN, principal, askWait: 20_000 };
      await servingEra(era, options, async ({ fetch, clock, parley }) => {
        const host = await connectHost(era, fetch, as("ann"));
        const link = linkIn(await refused(host));
        // A read before the answer waits for it, as continue_call does.
        const waiting = refused(host);
        await idle();
        clock.advance(20_000);
        assert.equal(linkIn(await waiting), link);
        assert.equal(runs(), 1);
        await answerPage(browser(parley.fetch), link, { name: "Ada" });
        assert.equal(await read(host), "one for Ada");
        assert.equal(runs(), 1);
        assert.notEqual(linkIn(await refused(host)), link);
        assert.equal(runs(), 2);
      });
    });

    it("gives its text to a read that waits for the answer, and only to that one", async () => {
      const { serve, runs } = note();
      await servingEra(era, { serve, publicUrl: ORIGIN, principal }, async ({ fetch, parley }) => {
        const host = await connectHost(era, fetch, as("ann"));
        const link = linkIn(await refused(host));
        const waiting = read(host);
        await idle();
        await answerPage(browser(parley.fetch), link, { name: "Ada" });
        assert.equal(await waiting, "one for Ada");
        await refused(host);
        assert.equal(runs(), 2);
      });
    });

    it("stays if a read that waits for the answer is cancelled", async () => {
      const { serve, runs } = note();
      await servingEra(era, { serve, publicUrl: ORIGIN, principal }, async ({ fetch, parley }) => {
        const host = await connectHost(era, fetch, as("ann"));
        const link = linkIn(await refused(host));
        await cancelRead(era, fetch);
        await answerPage(browser(parley.fetch), link, { name: "Ada" });
        assert.equal(await read(host), "one for Ada");
        assert.equal(runs(), 1);
      });
    });

    it("is another run for another caller, and for another URI", async () => {
      const { serve, runs } = note();
      await servingEra(era, { serve, publicUrl: ORIGIN, principal }, async ({ fetch }) => {
        const ann = await connectHost(era, fetch, as("ann"));
        const bob = await connectHost(era, fetch, as("bob"));
        const links = [
          linkIn(await refused(ann)),
          linkIn(await refused(bob)),
          linkIn(await refused(ann, "note://two")),
        ];
        assert.equal(new Set(links).size, 3);
        assert.equal(runs(), 3);
      });
    });
  });
}

describe("a resource that asks, for callers without a name", () => {
  for (const era of ERAS) {
    it(`is the same run on a private channel, in the ${era} era`, async () => {
      const { serve, runs } = note();
      await servingEra(era, { serve, publicUrl: ORIGIN }, async ({ parley }) => {
        const host = await connectStdio(era, parley, { capabilities: {} });
        try {
          const link = linkIn(await refused(host));
          await answerPage(parley.fetch, link, { name: "Ada" });
          assert.equal(await read(host), "one for Ada");
          assert.equal(runs(), 1);
        } finally {
          await host.close();
        }
      });
    });
  }

  const anonymous = async (
    era: Era,
    body: (hosts: readonly [Host, Host], fetch: Fetch, runs: () => number) => Promise<void>,
  ) => {
    const { serve, runs } = note();
    await servingEra(era, { serve, publicUrl: ORIGIN }, async ({ fetch, parley }) => {
      const hosts = [await connectHost(era, fetch), await connectHost(era, fetch)] as const;
      await body(hosts, parley.fetch, runs);
    });
  };

  it("is the same run within a legacy client session", async () => {
    await anonymous("legacy", async ([one, two], fetch, runs) => {
      const link = linkIn(await refused(one));
      assert.notEqual(linkIn(await refused(two)), link);
      await answerPage(fetch, link, { name: "Ada" });
      assert.equal(await read(one), "one for Ada");
      assert.equal(runs(), 2);
    });
  });

  it("has a URI of its own for a modern client, which no other caller can guess", async () => {
    await anonymous("modern", async ([one, two], fetch, runs) => {
      const message = await refused(one);
      const link = linkIn(message);
      const [uri] = /note:\/\/one#t_[\w-]+/.exec(message) ?? [];
      assert.ok(uri, message);
      assert.notEqual(linkIn(await refused(two)), link);
      await answerPage(fetch, link, { name: "Ada" });
      assert.equal(await read(one, uri), "one for Ada");
      assert.equal(runs(), 2);
      // A ticket that was changed is not a ticket, and that of a tool reads nothing.
      await refused(one, `${uri.slice(0, -4)}AAAA`);
      const tool = await one.call("note");
      await refused(one, `${URI}#${ticketOf(tool)}`);
      assert.equal(runs(), 4);
    });
  });
});
