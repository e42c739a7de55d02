/** A whole game of tic-tac-toe through each door. Views and terminals have tests of their own. */
import assert from "node:assert/strict";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import { ORIGIN } from "../support/exchange.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { DRAW_O, DRAW_X, FAST, personMove, SLOW, type Taste } from "../tools/ttt-players.ts";
import { connectHost, ERAS, type Host, type Result, servingEra, textOf, ticketOf } from "./host.ts";
import { linkIn, postForm, show } from "./page.ts";

const APPS = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};

/** What the person prefers. The server has no model, so the built-in player is the opponent. */
const TASTES: readonly Taste[] = [DRAW_X, DRAW_O, FAST, SLOW];

interface Table {
  readonly host: Host;
  readonly taste: Taste;
  readonly browse: (request: Request) => Promise<Response>;
}

/** The position of the cell that the person chooses on a page. */
function cellOnPage(html: string, taste: Taste): string {
  const offered = [...html.matchAll(/value="(\d+)"[^>]*>(?:\s|<[^>]*>)*(\d): /g)];
  assert.ok(offered.length > 0, html);
  const [best] = offered.sort(([, , a], [, , b]) => rank(taste, a!) - rank(taste, b!));
  return best![1]!;
}

/** Does what a deferral says, until the game is over. */
async function playedOut(first: Result, { host, taste, browse }: Table, door: string) {
  let result = first;
  for (let turns = 0; result.structuredContent.status === "waiting"; turns++) {
    assert.ok(turns < 20);
    const ticket = ticketOf(result);
    assert.equal(result.structuredContent.questions[0].door, door);
    if (door === "model") {
      const [, cells = ""] = /- cell: one of (.*?);/.exec(textOf(result))!;
      const [cell] = [...cells.matchAll(/"(\d)"/g)].map(([, one]) => one!)
        .sort((a, b) => rank(taste, a) - rank(taste, b));
      result = await host.call("continue_call", { ticket, answer: { cell } });
      continue;
    }
    if (door === "page") {
      const link = linkIn(textOf(result));
      const { html } = await show(browse, link);
      const response = await postForm(browse, link, html, { cell: cellOnPage(html, taste) });
      assert.equal(response.status, 303, await response.text());
    } else {
      let state = result._meta["parley/ask"];
      while (state.state === "question") {
        const { secret, question } = state;
        const content = personMove(taste, question.requestedSchema);
        const answer = { question: question.id, action: "accept", content };
        state = (await host.call("answer_call", { secret, answer }))._meta["parley/ask"];
      }
    }
    result = await host.call("continue_call", { ticket });
  }
  return result;
}

const rank = (taste: Taste, cell: string) => {
  const found = (taste as readonly string[]).indexOf(cell);
  return found < 0 ? taste.length : found;
};

for (const era of ERAS) {
  describe(`a game of tic-tac-toe, in the ${era} era`, () => {
    for (const door of ["form", "app", "page", "model"] as const) {
      it(`is played to its end through the door "${door}"`, async () => {
        for (const taste of TASTES) {
          let asked = 0;
          const options = {
            serve: [createPlayTtt(() => 0)],
            doors: [door],
            askWait: 0,
            publicUrl: ORIGIN,
          };
          await servingEra(era, options, async ({ fetch, clock, parley: { fetch: browse } }) => {
            const host = await connectHost(era, fetch, {
              capabilities: door === "form"
                ? { elicitation: { form: {} } }
                : door === "app"
                ? APPS
                : {},
              answer({ params }) {
                asked++;
                return { action: "accept", content: personMove(taste, params.requestedSchema) };
              },
            });
            const calling = host.call("play_ttt");
            await idle();
            clock.advance(2_000);
            const result = await playedOut(await calling, { host, taste, browse }, door);
            assert.notEqual(result.isError, true, textOf(result));
            const { ending, moves } = result.structuredContent;
            assert.ok(["won", "lost", "draw"].includes(ending), ending);
            assert.ok(moves.length >= 5);
            if (door === "form") assert.ok(asked >= 3);
          });
        }
      });
    }
  });
}
