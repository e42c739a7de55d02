/** A whole game of tic-tac-toe in one call: the person against the model. */
import { closeToolCalls, createMcpTool, type McpMessageInput } from "parley-mcp";
import { z } from "zod";
import {
  type Cell,
  CELLS,
  describeBoard,
  drawBoard,
  emptyCells,
  type Game,
  isOver,
  type Mark,
  other,
  PLACES,
  play,
  turnOf,
  winnerOf,
} from "./play_ttt/board.ts";

const STRATEGIES = [
  {
    name: "play_offensive",
    description: "Go for three in a row of your own.",
    inputSchema: z.object({ reasoning: z.string().describe("Which line, and why") }),
  },
  {
    name: "play_defensive",
    description: "Keep the person from getting three in a row.",
    inputSchema: z.object({ threat: z.string().describe("The line that has to be blocked") }),
  },
] as const;

/** The form for a move, with a choice for each of these cells. */
function moveForm(cells: readonly Cell[]) {
  const choices = cells.map((cell) => z.literal(cell).meta({ title: `${cell}: ${PLACES[cell]}` }));
  return z.object({ cell: z.union(choices).describe("The number of an empty cell") });
}

/** How it ended, seen from the person. */
type Ending = "won" | "lost" | "draw" | "declined" | "cancelled";

const HOW_IT_ENDED: Record<Ending, string> = {
  won: "The person has won.",
  lost: "The model has won.",
  draw: "It is a draw.",
  declined: "The person gave the game up.",
  cancelled: "The person closed the game before its end.",
};

/** The tool, with another coin for tests. */
export function createPlayTtt(toss: () => number = Math.random) {
  return createMcpTool("play_ttt")
    .title("Play tic-tac-toe")
    .description(
      "Plays a whole game of tic-tac-toe with the person, who is asked for every move. " +
        "Call it once, without arguments; it returns when the game is over.",
    )
    .annotations({ readOnlyHint: true, openWorldHint: false })
    .output(z.object({
      ending: z.enum(["won", "lost", "draw", "declined", "cancelled"]),
      person: z.enum(["X", "O"]),
      model: z.enum(["X", "O"]),
      moves: z.array(z.object({ mark: z.enum(["X", "O"]), cell: z.enum(CELLS) })),
    }))
    .elicits({
      pickMove: { response: moveForm(CELLS), context: z.object({ board: z.string() }) },
    })
    .requires({ elicitation: "form" })
    .durable()
    .handoff({
      *before() {
        const person: Mark = toss() < 0.5 ? "X" : "O";
        return { person, model: other(person) };
      },

      *client({ person, model }, ctx) {
        let game: Game = [];
        /** Everything that the model is told, from the first move on. */
        const history: McpMessageInput[] = [{
          role: "user",
          content: `Let us play tic-tac-toe. You are ${model}, I am ${person}, and X begins.`,
        }];

        while (!isOver(game)) {
          const empty = emptyCells(game);
          const last = empty.length === 1 ? empty[0] : undefined;
          yield* ctx.notify(`${turnOf(game) === person ? "Your" : "My"} turn`, game.length, 9);

          if (last) {
            // There is nothing to ask: only one move is left.
            game = play(game, last);
          } else if (turnOf(game) === model) {
            // L1: which way to play.
            const strategy = yield* ctx.sampleTools({
              messages: [...history, {
                role: "user",
                content: `It is your turn.\n${describeBoard(game)}\nChoose your strategy.`,
              }],
              tools: STRATEGIES,
            });
            history.push(...closeToolCalls(strategy.exchange, "Good. Now pick your cell."));

            // L2: which cell. One that is taken does not fit the schema, and is never played.
            const move = yield* ctx.sampleSchema({
              messages: [...history, {
                role: "user",
                content: `Pick one of the empty cells: ${empty.join(", ")}.`,
              }],
              schema: z.object({ cell: z.literal(empty) }),
            });
            history.push(...move.exchange.messages);
            game = play(game, move.parsed.cell);
          } else {
            const board = drawBoard(game);
            const theirs = game.at(-1);
            const pick = yield* ctx.elicit("pickMove", {
              message: [
                theirs && `I have played ${theirs.cell} (${PLACES[theirs.cell]}).`,
                `You are ${person}. Where do you play?`,
                "",
                board,
              ].filter((line) => line !== undefined).join("\n"),
              board,
            }, { response: moveForm(empty) });
            if (pick.action !== "accept") {
              const ending: Ending = pick.action === "decline" ? "declined" : "cancelled";
              return { game, ending };
            }
            history.push(...pick.exchange.withArguments(() => ({ board: describeBoard(game) })));
            game = play(game, pick.content.cell);
          }
        }
        const winner = winnerOf(game);
        const ending: Ending = winner === undefined ? "draw" : winner === person ? "won" : "lost";
        return { game, ending };
      },

      *after({ person, model }, { game, ending }) {
        const text = `${HOW_IT_ENDED[ending]} (Person: ${person}, model: ${model})\n\n${
          drawBoard(game)
        }`;
        return {
          content: [{ type: "text", text }],
          structuredContent: { ending, person, model, moves: [...game] },
        };
      },
    });
}

export const playTtt = createPlayTtt();
