// deno-lint-ignore-file no-explicit-any
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { until } from "effection";
import {
  type ElicitRequest,
  type FinalizedMcpTool,
  testTool,
  type ToolScript,
} from "../../src/mod.ts";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import type { Cell } from "../../tools/play_ttt/board.ts";
import { absence } from "../harness/system.ts";
import { describe, it } from "../suite.ts";
import {
  cellsOffered,
  DRAW_O,
  DRAW_X,
  FAST,
  type Match,
  modelAnswer,
  prefer,
  SLOW,
} from "../tools/ttt-players.ts";
import { type ShownApp, useApp } from "./app.ts";
import { assertAccessible } from "./served-page.ts";

const inBrowser = it.unless(absence("browser"));

/** The server's side of a game: the view answers the questions of the real tool. */
class Game {
  readonly #asked: (() => void)[] = [];
  #question: ElicitRequest | undefined;
  #answer: ((answer: any) => void) | undefined;
  #result: any;
  /** The cells that can be played now. */
  offered: readonly Cell[] = [];

  start(tool: FinalizedMcpTool, model: Match["model"]): void {
    const script: ToolScript<any> = {
      elicit: { pickMove: (request: ElicitRequest) => this.#ask(request) },
      sample: ({ params }) => modelAnswer(model, params),
    };
    testTool(tool, {}, script).then(({ result }) => {
      this.#result = result;
      this.#wake();
    });
  }

  readonly callTool = async ({ arguments: { answer } }: any): Promise<object> => {
    if (answer) {
      assert.equal(answer.question, this.#question?.id);
      const respond = this.#answer!;
      this.#question = this.#answer = undefined;
      respond(answer.action === "accept" ? answer : answer.action);
    }
    if (!this.#question && !this.#result) {
      await new Promise<void>((resolve) => this.#asked.push(resolve));
    }
    const { id, place, params } = this.#question ?? {} as any;
    const common = { ticket: "t", secret: "s", tell: false };
    return this.#result
      ? { ...this.#result, _meta: { "parley/ask": { ...common, state: "done" } } }
      : {
        content: [],
        _meta: {
          "parley/ask": {
            ...common,
            state: "question",
            question: { id, key: place.key, ...params },
          },
        },
      };
  };

  #ask(request: ElicitRequest): Promise<any> {
    assert.ok(request.params.mode === "form");
    this.offered = cellsOffered(request.params.requestedSchema);
    this.#question = request;
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#wake();
    });
  }

  #wake(): void {
    for (const resolve of this.#asked.splice(0)) resolve();
  }
}

/** Clicks on cells until the game is over. */
async function playOn(app: ShownApp, game: Game, person: Match["person"]): Promise<string> {
  const { view } = app;
  for (;;) {
    const title = await view.locator("h1").textContent();
    if (!title?.endsWith("?")) return title ?? "";
    const buttons = view.locator("button.cell");
    assert.equal(await buttons.count(), game.offered.length);
    const before = game.offered.length;
    await view.getByRole("button", { name: new RegExp(`^${prefer(person, game.offered)}:`) })
      .click();
    // The next board has fewer free cells; the last has none.
    await app.page.frames().at(-1)!.waitForFunction(
      (before) => document.querySelectorAll("button.cell").length < before,
      before,
    );
  }
}

const GAMES: readonly { readonly ending: string; readonly toss: number; readonly match: Match }[] =
  [
    { ending: "You have won.", toss: 0, match: { person: FAST, model: SLOW } },
    { ending: "You have lost.", toss: 0.99, match: { person: SLOW, model: FAST } },
    { ending: "It is a draw.", toss: 0, match: { person: DRAW_X, model: DRAW_O } },
  ];

describe("the board of play_ttt", () => {
  inBrowser(
    "is clicked on in a game that is won, one that is lost, and one that is drawn",
    function* () {
      let game = new Game();
      const app = yield* useApp((params) => game.callTool(params), {
        viewport: { width: 360, height: 640 },
      });
      yield* until((async () => {
        for (const { ending, toss, match: { person, model } } of GAMES) {
          game = new Game();
          const tool = createPlayTtt(() => toss);
          const { html } = await tool.view!();
          game.start(tool, model);
          await app.page.evaluate("document.querySelector('iframe')?.remove()");
          await app.mount({ html, tool: "play_ttt", theme: toss === 0 ? "light" : "dark" });
          await app.view.locator(".board").waitFor();
          await assertAccessible(app.page.frames().at(-1)!);
          assert.equal(await playOn(app, game, person), ending);
          assert.equal(await app.view.getByRole("img").count(), 9);
          await assertAccessible(app.page.frames().at(-1)!);
        }
        // Declining gives the game up.
        game = new Game();
        game.start(createPlayTtt(() => 0), SLOW);
        await app.page.evaluate("document.querySelector('iframe')?.remove()");
        await app.mount({ html: (await createPlayTtt().view!()).html });
        await app.view.getByRole("button", { name: "Decline" }).click();
        await app.view.getByText("gave the game up").waitFor();
      })());
    },
    { within: 90_000 },
  );
});
