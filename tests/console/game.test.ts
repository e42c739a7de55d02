// deno-lint-ignore-file no-explicit-any
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import type { Page } from "playwright-core";
import { type Cell, CELLS } from "../../tools/play_ttt/board.ts";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { useBrowser } from "../support/browser.ts";
import { builtExecutable } from "../support/built.ts";
import { useFolder } from "../support/folder.ts";
import { useHttp } from "../support/http-server.ts";
import { useProgram } from "../support/program.ts";
import { DRAW_O, DRAW_X, FAST, prefer, SLOW, type Taste } from "../tools/ttt-players.ts";

/** Each runtime has one era. */
const era = currentRuntime() === "deno" ? "2026-07-28" : "2025-11-25";
const inBrowser = it.unless(absence("browser"));

/** What each player likes, by the number of free cells: an odd number means that X plays. */
type Player = (free: number) => Taste;
const draw: Player = (free) => free % 2 === 1 ? DRAW_X : DRAW_O;

/** A server like OpenAI's, whose model plays tic-tac-toe. */
function useModel(player: () => Player): Operation<string> {
  return useHttp((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part) => text += part).on("end", () => {
      const { tools, model, response_format: format } = JSON.parse(text);
      // The data is asked for as a tool call, or as text that fits a schema.
      const [offered] = tools ?? [];
      const schema = offered?.function.parameters ?? format.json_schema.schema;
      const cells: Cell[] | undefined = schema.properties.cell?.enum;
      const cell = cells && { cell: prefer(player()(cells.length), cells) };
      const name = offered?.function.name;
      const args = name === "play_offensive" ? { reasoning: "Three in a row.", ...cell } : cell;
      const call = { name, arguments: JSON.stringify(args) };
      const use = { id: `call_${text.length}`, type: "function", function: call };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({
        id: "c",
        object: "chat.completion",
        created: 1,
        model,
        choices: [{
          index: 0,
          finish_reason: offered ? "tool_calls" : "stop",
          message: {
            role: "assistant",
            content: offered ? null : call.arguments,
            ...(offered && { tool_calls: [use] }),
          },
        }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }));
    });
  });
}

/** Plays one game in the console, and returns its structured result. */
async function play(page: Page, person: Player): Promise<any> {
  await page.getByRole("button", { name: /^Run/ }).click();
  const question = page.getByRole("region", { name: "Question" });
  const result = page.getByRole("group", { name: "Result" });
  const answered = page.locator("ol.note li");
  for (let moves = 0; moves < 5; moves++) {
    await question.or(result).first().waitFor();
    if (await result.count() > 0) break;
    const list = question.getByRole("combobox");
    const isList = await list.count() > 0;
    const labels = isList
      ? (await list.getByRole("option").allTextContents()).slice(1)
      : await question.locator(".option").allTextContents();
    const offered = CELLS.filter((cell) => labels.some((label) => label.trim().startsWith(cell)));
    const cell = prefer(person(offered.length), offered);
    const label = labels.find((label) => label.trim().startsWith(cell))!.trim();
    if (isList) await list.selectOption({ label });
    else await question.getByLabel(label).check();
    await question.getByRole("button", { name: "Accept" }).click();
    await answered.nth(moves).waitFor();
  }
  await result.waitFor();
  return JSON.parse((await result.locator("pre.mono").first().textContent())!);
}

describe(`a game of tic-tac-toe in the console of the executable (${era})`, () => {
  inBrowser("is won, lost and drawn against the model of the server", function* () {
    let model: Player = () => SLOW;
    const url = yield* useModel(() => model);
    const program = yield* useProgram(["serve", "--console", "--port", "0"], {
      start: builtExecutable(),
      cwd: yield* useFolder(),
      env: {
        PARLEY_MODEL: "openai-compatible:player",
        PARLEY_MODEL_URL: new URL("/v1", url).href,
        PARLEY_MODEL_KEY: "none",
      },
    });
    const [link] = yield* until(program.says(/http:\S+\/console\/open\?code=[\w-]+/));
    const browser = yield* useBrowser();
    const page = yield* until(browser.newPage());
    yield* until((async () => {
      await page.goto(link);
      await page.getByRole("link", { name: /^play_ttt/ }).click();
      await page.getByRole("radio", { name: era }).check();
      await page.getByRole("checkbox", { name: "Sampling" }).uncheck();
      await page.getByText("The server's own model answers").waitFor();
      const games: [Player, Player, string][] = [
        [() => FAST, () => SLOW, "won"],
        [() => SLOW, () => FAST, "lost"],
        [draw, draw, "draw"],
      ];
      for (const [person, opponent, ending] of games) {
        model = opponent;
        const played = await play(page, person);
        assert.deepEqual(
          [played.ending, played.opponent],
          [ending, "model"],
          JSON.stringify(played),
        );
      }
      await page.close();
    })());
  }, { within: 240_000 });
});
