/** Questions with a sensitive field: only on a page, or in a form if the operator allows that. */
import assert from "node:assert/strict";
import { createManualClock, createMcpTool, createParley } from "parley-mcp";
import { z } from "zod";
import { ORIGIN } from "../support/exchange.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, type Result, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";

const SECRET = "s3cret-pin";

const login = createMcpTool("login").description("Signs in.")
  .elicits({ pin: { response: z.object({ pin: z.string() }), sensitive: ["pin"] } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("pin", { message: "Your pin?" });
    if (answer.action !== "accept") return answer.action;
    assert.equal(answer.content.pin, SECRET);
    return answer.via;
  });

const APPS = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};
const CLIENTS = {
  "nothing": {},
  "apps": APPS,
  "URLs": { elicitation: { url: {} } },
  "forms": { elicitation: { form: {} } },
};

type Client = keyof typeof CLIENTS;

/** How the answer comes, for a server with or without pages, and with or without passwords in forms. */
const TABLE: { readonly [client in Client]: readonly [string, string, string, string] } = {
  "nothing": ["page", "page", "none", "none"],
  "apps": ["page", "page", "none", "none"],
  "URLs": ["page", "page", "none", "none"],
  "forms": ["page", "page", "none", "form"],
};

for (const era of ERAS) {
  describe(`a question with a sensitive field, in the ${era} era`, () => {
    for (const client of Object.keys(CLIENTS) as Client[]) {
      it(`goes to a page, or to a form that may ask for it: a client with ${client}`, async () => {
        for (let server = 0; server < 4; server++) {
          const options = {
            serve: [login],
            formPasswords: server % 2 === 1,
            ...(server < 2 && { publicUrl: ORIGIN }),
          };
          const clock = createManualClock();
          const parley = createParley({ ...options, clock });
          const { fetch: browse } = parley;
          try {
            const host = await connectHost(era, parley.fetch, {
              capabilities: CLIENTS[client],
              async answer({ params }) {
                if (params.mode !== "url") return { action: "accept", content: { pin: SECRET } };
                await answerPage(browse, params.url, { pin: SECRET });
                return { action: "accept" };
              },
            });
            const calling: Promise<Result> = host.call("login");
            await idle();
            clock.advance(2_000);
            let result = await calling;
            assert.equal(JSON.stringify(result).includes(SECRET), false);
            if (result.structuredContent?.status === "waiting") {
              const ticket = ticketOf(result);
              // Neither the model nor a view may answer.
              const answer = { pin: "guess" };
              const byModel = await host.call("continue_call", { ticket, answer });
              assert.equal(byModel.isError, true);
              assert.equal(result._meta?.["parley/ask"], undefined);
              await answerPage(browse, linkIn(textOf(result)), { pin: SECRET });
              result = await host.call("continue_call", { ticket });
            }
            const outcome = result.isError ? "none" : textOf(result);
            assert.equal(outcome, TABLE[client][server], `server ${server}: ${textOf(result)}`);
          } finally {
            await parley.close();
          }
        }
      });
    }
  });
}
