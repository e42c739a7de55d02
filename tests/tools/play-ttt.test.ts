import assert from "node:assert/strict";
import { type ElicitRequest, testTool, type ToolScript } from "../../src/mod.ts";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import {
  type Cell,
  chooseCell,
  emptyCells,
  type Game,
  isOver,
  play,
  turnOf,
  winnerOf,
} from "../../tools/play_ttt/board.ts";
import { describe, it } from "../suite.ts";
import {
  cellsOffered,
  DRAW_O,
  DRAW_X,
  FAST,
  type Match,
  modelAnswer,
  personMove,
  SLOW,
} from "./ttt-players.ts";

const PERSON_FIRST = () => 0;
const MODEL_FIRST = () => 0.99;

type Script = ToolScript<NonNullable<ReturnType<typeof createPlayTtt>["elicitTypes"]>>;

function formOf({ params }: ElicitRequest) {
  assert.ok(params.mode === "form");
  return params;
}

/** Plays a game; the parts of `script` replace the players' defaults. */
function game(toss: () => number, { model, person }: Match, script: Script = {}) {
  return testTool(createPlayTtt(toss), {}, {
    elicit: {
      pickMove: (request) => ({
        action: "accept",
        content: personMove(person, formOf(request).requestedSchema),
      }),
    },
    sample: ({ params }) => modelAnswer(model, params),
    ...script,
  });
}

type Run = Awaited<ReturnType<typeof game>>;

const samples = ({ events }: Run) =>
  events.flatMap((event) => event.type === "sample_request" ? [event] : []);
const forms = ({ events }: Run) =>
  events.flatMap((event) => event.type === "elicit_request" ? [formOf(event)] : []);

describe("play_ttt", () => {
  it("can be won by the person", async () => {
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW });
    assert.deepEqual(run.structured, {
      ending: "won",
      person: "X",
      model: "O",
      opponent: "model",
      moves: [
        { mark: "X", cell: "1" },
        { mark: "O", cell: "4" },
        { mark: "X", cell: "2" },
        { mark: "O", cell: "5" },
        { mark: "X", cell: "3" },
      ],
      board: "X | X | X\nO | O | 6\n7 | 8 | 9",
      summary: "The person has won. (Person: X, model: O)",
    });
    assert.match(run.text, /^The person has won\..*\n\n❌ │ ❌ │ ❌\n⭕ │ ⭕ │ ６\n７ │ ８ │ ９$/);
    assert.deepEqual(run.faults, []);
    assert.deepEqual(run.warnings, []);
  });

  it("can be lost to the model", async () => {
    const run = await game(MODEL_FIRST, { person: SLOW, model: FAST });
    assert.equal(run.structured.ending, "lost");
    assert.equal(run.structured.person, "O");
    assert.match(run.text, /^The model has won\./);
  });

  it("can be a draw, and fills the last cell itself", async () => {
    for (
      const [toss, match] of [
        [PERSON_FIRST, { person: DRAW_X, model: DRAW_O }],
        [MODEL_FIRST, { person: DRAW_O, model: DRAW_X }],
      ] as const
    ) {
      const run = await game(toss, match);
      assert.equal(run.structured.ending, "draw");
      assert.equal(run.structured.moves.length, 9);
      assert.equal(run.conversation.filter(({ kind }) => kind === "elicit").length, 4);
      assert.equal(samples(run).length, 8);
      assert.match(run.text, /^It is a draw\./);
    }
  });

  it("ends when the person declines or cancels", async () => {
    for (const [action, ending] of [["decline", "declined"], ["cancel", "cancelled"]] as const) {
      const run = await game(PERSON_FIRST, { person: FAST, model: SLOW }, {
        elicit: { pickMove: [{ action: "accept", content: { cell: "5" } }, action] },
      });
      assert.equal(run.structured.ending, ending);
      assert.equal(run.structured.moves.length, 2);
      assert.notEqual(run.result.isError, true);
    }
  });

  it("tosses a fair coin, once", async () => {
    for (const [toss, person] of [[0, "X"], [0.49, "X"], [0.5, "O"], [0.99, "O"]] as const) {
      let tosses = 0;
      const run = await game(() => (tosses++, toss), { person: SLOW, model: SLOW });
      assert.equal(run.structured.person, person);
      assert.notEqual(run.structured.model, person);
      assert.equal(tosses, 1);
    }
  });

  it("offers only the empty cells, and names their positions", async () => {
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW });
    assert.deepEqual(
      forms(run).map(({ requestedSchema }) => cellsOffered(requestedSchema).join("")),
      [
        "123456789",
        "2356789",
        "36789",
      ],
    );
    const [, second] = forms(run);
    assert.deepEqual(
      (second!.requestedSchema.properties as { cell: { oneOf: unknown[] } }).cell.oneOf[0],
      { const: "2", title: "2: top middle" },
    );
    assert.match(second!.message, /I have played 4 \(middle left\)\..*\n\n❌ │ ２ │ ３\n⭕ │ ５/s);
  });

  it("shows the board in the first line of the message, and in the form", async () => {
    const [first, second] = forms(await game(PERSON_FIRST, { person: FAST, model: SLOW }));
    assert.equal(
      first!.message.split("\n")[0],
      "You are X. Where do you play? １ ２ ３ / ４ ５ ６ / ７ ８ ９",
    );
    assert.equal(
      second!.message.split("\n")[0],
      "I have played 4 (middle left). You are X. Where do you play? ❌ ２ ３ / ⭕ ５ ６ / ７ ８ ９",
    );
    const { cell } = second!.requestedSchema.properties as { cell: { title: string } };
    assert.equal(cell.title, "Your move (X): ❌ ２ ３ / ⭕ ５ ６ / ７ ８ ９");
  });

  it("asks again for a cell that is taken", async () => {
    const taken = { action: "accept", content: { cell: "1" } } as const;
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW }, {
      elicit: { pickMove: [taken, taken, { action: "accept", content: { cell: "9" } }, "decline"] },
    });
    assert.deepEqual(run.structured.moves.map(({ cell }) => cell), ["1", "4", "9", "5"]);
  });

  it("lets the model choose a strategy, then a cell, for every move", async () => {
    const run = await game(MODEL_FIRST, { person: SLOW, model: FAST });
    const offered = samples(run).map(({ params }) => params.tools?.map(({ name }) => name));
    const turn = [["play_offensive", "play_defensive"], ["__schema__"]];
    assert.deepEqual(offered, [...turn, ...turn, ...turn]);
    assert.ok(samples(run).every(({ params }) => params.toolChoice?.mode === "required"));
  });

  it("tells the model everything that has happened", async () => {
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW });
    const all = samples(run).map(({ params }) => params.messages);
    for (const [index, messages] of all.entries()) {
      assert.equal(messages[0]!.role, "user");
      // Earlier messages are still there, in the same order.
      const before = all[index - 1];
      if (before) assert.deepEqual(messages.slice(0, before.length), before);
    }
    const text = JSON.stringify(all.at(-1));
    assert.match(text, /You are O, I am X/);
    assert.match(text, /"name":"pickMove"/);
    assert.match(text, /X \| X \| 3/);
    assert.match(text, /"input":\{"cell":"4"\}/);
    assert.match(text, /"text":"ok"/);
  });

  it("corrects an illegal move of the model, and never plays it", async () => {
    let moves = 0;
    const illegal: unknown[] = ["1", "0", 5, "x", undefined];
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW }, {
      sample: ({ params }) => {
        const answer = modelAnswer(SLOW, params);
        if (params.tools?.[0]?.name !== "__schema__") return answer;
        // Every second answer is wrong.
        const cell = moves++ % 2 === 0 ? illegal[moves % illegal.length] : "4";
        if (cell === "4") return answer;
        return {
          ...answer,
          content: [{ type: "tool_use", id: "bad", name: "__schema__", input: { cell } }],
        };
      },
    });
    assert.equal(run.structured.ending, "won");
    assert.deepEqual(run.structured.moves.map(({ cell }) => cell), ["1", "4", "2", "5", "3"]);
    const corrections = samples(run).filter(({ params }) =>
      JSON.stringify(params.messages.at(-1)).includes("cannot be used")
    );
    assert.equal(corrections.length, 2);
  });

  it("is finished by the built-in player if the model never makes a legal move", async () => {
    const taken = {
      type: "tool_use",
      id: "bad",
      name: "__schema__",
      input: { cell: "1" },
    } as const;
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW }, {
      sample: ({ params }) => {
        const answer = modelAnswer(SLOW, params);
        return params.tools?.[0]?.name === "__schema__" ? { ...answer, content: [taken] } : answer;
      },
    });
    assert.equal(run.structured.opponent, "built-in player");
    // One strategy and three attempts at a cell; after that the model is not asked again.
    assert.equal(samples(run).length, 4);
    assert.ok(isOver(run.structured.moves));
    assert.match(forms(run)[1]!.message, /^The built-in player has played 5 \(centre\)\./);
    assert.match(run.text, /\(Person: X, built-in player: O\)/);
    assert.deepEqual(run.faults, []);
    assert.deepEqual(run.warnings, []);
  });

  it("reports that the built-in player takes over from the model", async () => {
    let strategies = 0;
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW }, {
      sample: ({ params }) => {
        const isStrategy = params.tools?.[0]?.name !== "__schema__";
        if (isStrategy && ++strategies > 1) return { error: { code: -1, message: "denied" } };
        return modelAnswer(SLOW, params);
      },
    });
    assert.equal(run.structured.opponent, "model, then built-in player");
    // The model played 4; the built-in player sees that 3 would be the person's third in a row.
    assert.deepEqual(run.structured.moves.slice(0, 4).map(({ cell }) => cell), [
      "1",
      "4",
      "2",
      "3",
    ]);
    assert.ok(isOver(run.structured.moves));
    assert.match(run.structured.summary, /model, then built-in player: O/);
    const logs = run.events.flatMap((event) => event.type === "log" ? [event.data] : []);
    assert.match(JSON.stringify(logs), /takes over: .*denied/);
  });

  it("is played to its end, whoever begins, if there is no model", async () => {
    const client = { name: "Acme", capabilities: { elicitation: {} } };
    for (const toss of [PERSON_FIRST, MODEL_FIRST]) {
      for (const person of [FAST, SLOW, DRAW_X, DRAW_O]) {
        const run = await game(toss, { person, model: [] }, { client });
        assert.notEqual(run.result.isError, true);
        assert.ok(isOver(run.structured.moves));
        assert.equal(run.structured.opponent, "built-in player");
        assert.notEqual(run.structured.ending, "won");
        assert.deepEqual(samples(run), []);
        if (run.structured.ending === "lost") {
          assert.match(run.text, /^The built-in player has won/);
        }
      }
    }
  });

  it("ends as an error if the client cannot show the form", async () => {
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW }, {
      elicit: { pickMove: { error: { code: -1, message: "no dialog" } } },
    });
    assert.equal(run.result.isError, true);
    assert.match(run.text, /no dialog/);
  });

  it("can be played with a model that knows no tools", async () => {
    const client = { capabilities: { elicitation: {}, sampling: {} } };
    const run = await game(MODEL_FIRST, { person: SLOW, model: FAST }, { client });
    assert.equal(run.structured.ending, "lost");
    assert.ok(samples(run).every(({ params }) => params.tools === undefined));
  });

  it("reports its progress", async () => {
    const run = await game(PERSON_FIRST, { person: FAST, model: SLOW });
    const told = run.events.flatMap((event) => event.type === "progress" ? [event.progress] : []);
    assert.deepEqual(told, [0, 1, 2, 3, 4]);
  });
});

describe("the board", () => {
  it("allows no move into an occupied cell, or after the end", () => {
    const cells: Cell[] = ["1", "4", "2", "5", "3"];
    const over = cells.reduce(play, []);
    assert.equal(winnerOf(over), "X");
    assert.ok(isOver(over));
    assert.deepEqual(emptyCells(over), ["6", "7", "8", "9"]);
    assert.throws(() => play(over, "9"), /over/);
    assert.throws(() => play(play([], "5"), "5"), /not empty/);
  });
});

describe("the built-in player", () => {
  it("wins if it can, and otherwise blocks the opponent", () => {
    const after = (...cells: Cell[]) => chooseCell(cells.reduce<Game>(play, []));
    assert.equal(after("1", "4", "2", "5"), "3", "wins, though 6 would have to be blocked");
    assert.equal(after("1", "4", "2"), "3", "blocks");
    assert.equal(after(), "5");
    assert.equal(after("5"), "1");
  });

  it("ends every game, within the rules", () => {
    /** Plays every possible game in which one side is the built-in player. */
    const explore = (game: Game, mine: "X" | "O"): number => {
      if (isOver(game)) return 1;
      const cells = turnOf(game) === mine ? [chooseCell(game)] : emptyCells(game);
      return cells.reduce((sum, cell) => sum + explore(play(game, cell), mine), 0);
    };
    assert.ok(explore([], "X") > 50);
    assert.ok(explore([], "O") > 100);
    assert.throws(() =>
      chooseCell(["1", "9", "8", "3", "4", "5", "2", "7", "6"].reduce<Game>(
        (game, cell) => [...game, { mark: turnOf(game), cell: cell as Cell }],
        [],
      ))
    );
  });
});
