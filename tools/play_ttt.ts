/**
 * A whole game of tic-tac-toe in one call: the person against the model, or against the built-in
 * player if there is no model.
 */
import type { Operation } from "effection";
import {
  CapabilityError,
  closeToolCalls,
  createMcpTool,
  type McpMessageInput,
  type McpToolContext,
  SampleError,
  SampleValidationError,
} from "parley-mcp";
import { z } from "zod";
import {
  boardLine,
  boardRows,
  type Cell,
  CELLS,
  chooseCell,
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

/** The form for a move, with a choice for each cell. The title shows the board. */
function moveForm(cells: readonly Cell[], title = "Your move") {
  const choices = cells.map((cell) => z.literal(cell).meta({ title: `${cell}: ${PLACES[cell]}` }));
  return z.object({
    cell: z.union(choices).meta({ title, description: "The number of an empty cell" }),
  });
}

/** Asks the model for a strategy, then for a cell, and adds both to the history. */
function* askModel(
  ctx: McpToolContext,
  game: Game,
  history: McpMessageInput[],
): Operation<Cell> {
  // First, ask for the strategy.
  const strategy = yield* ctx.sampleTools({
    messages: [...history, {
      role: "user",
      content: `It is your turn.\n${describeBoard(game)}\nChoose your strategy.`,
    }],
    tools: STRATEGIES,
  });
  history.push(...closeToolCalls(strategy.exchange, "Good. Now pick your cell."));

  // Then ask for the cell. The schema allows only empty cells.
  const empty = emptyCells(game);
  const move = yield* ctx.sampleSchema({
    messages: [...history, {
      role: "user",
      content: `Pick one of the empty cells: ${empty.join(", ")}.`,
    }],
    schema: z.object({ cell: z.literal(empty) }),
  });
  history.push(...move.exchange.messages);
  return move.parsed.cell;
}

/** Asks the model for a strategy and a cell in one request. */
function* askModelOnce(
  ctx: McpToolContext,
  game: Game,
  history: McpMessageInput[],
): Operation<Cell> {
  const [offensive, defensive] = STRATEGIES;
  const cell = z.literal(emptyCells(game)).describe("The empty cell to play");
  const move = yield* ctx.sampleTools({
    messages: [...history, {
      role: "user",
      content: `It is your turn.\n${describeBoard(game)}\nChoose your strategy and your cell.`,
    }],
    tools: [
      { ...offensive, inputSchema: offensive.inputSchema.extend({ cell }) },
      { ...defensive, inputSchema: defensive.inputSchema.extend({ cell }) },
    ] as const,
  });
  history.push(...closeToolCalls(move.exchange, "Good."));
  return move.toolCalls[0].arguments.cell;
}

/** True if there is no model, the model cannot be reached, or it found no legal move. */
function isModelAtFault(error: unknown): error is Error {
  return error instanceof CapabilityError || error instanceof SampleError ||
    error instanceof SampleValidationError;
}

const OPPONENTS = ["model", "built-in player", "model, then built-in player"] as const;
type Opponent = typeof OPPONENTS[number];

/** How the game ended for the person. */
type Ending = "won" | "lost" | "draw" | "declined" | "cancelled";

function howItEnded(ending: Ending, opponent: Opponent): string {
  switch (ending) {
    case "won":
      return "The person has won.";
    case "lost":
      return opponent === "model" ? "The model has won." : "The built-in player has won.";
    case "draw":
      return "It is a draw.";
    case "declined":
      return "The person gave the game up.";
    case "cancelled":
      return "The person closed the game before its end.";
  }
}

/** Creates the tool. `toss` decides who plays X; tests replace it. */
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
      model: z.enum(["X", "O"]).describe("The mark of the person's opponent"),
      opponent: z.enum(OPPONENTS).describe("Who played against the person"),
      moves: z.array(z.object({ mark: z.enum(["X", "O"]), cell: z.enum(CELLS) })),
      board: z.string().describe("The final board, as rows; empty cells show their numbers"),
      summary: z.string().describe("How the game ended, in words"),
    }))
    .elicits({
      pickMove: { response: moveForm(CELLS), context: z.object({ board: z.string() }) },
    })
    .requires({ elicitation: true })
    .view(() => import("./play_ttt/board-view.ts"))
    .durable()
    .handoff({
      *before(_params, ctx) {
        const person: Mark = toss() < 0.5 ? "X" : "O";
        // `before` is recorded, so a call that continues on another server keeps its opponent.
        const { client, sampledBy } = ctx;
        // Each question costs such a client one of its ten rounds.
        const inOne = sampledBy === "caller" ||
          sampledBy === "client" && (client.protocolVersion ?? "") >= "2026-07-28";
        return { person, model: other(person), hasModel: ctx.canSample, inOne };
      },

      *client({ person, model, hasModel, inOne }, ctx) {
        let game: Game = [];
        let modelMoves = 0;
        // Earlier versions of this tool did not record whether there is a model.
        let isModelPlaying = hasModel ?? true;
        /** The whole conversation with the model. */
        const history: McpMessageInput[] = [{
          role: "user",
          content: `Let us play tic-tac-toe. You are ${model}, I am ${person}, and X begins.`,
        }];
        const over = (ending: Ending) => {
          const opponent: Opponent = isModelPlaying
            ? "model"
            : modelMoves > 0
            ? "model, then built-in player"
            : "built-in player";
          return { game, ending, opponent };
        };

        while (!isOver(game)) {
          const empty = emptyCells(game);
          const last = empty.length === 1 ? empty[0] : undefined;
          yield* ctx.notify(`${turnOf(game) === person ? "Your" : "My"} turn`, game.length, 9);

          if (last) {
            // Only one move is left, so there is nothing to ask.
            game = play(game, last);
          } else if (turnOf(game) === model) {
            let cell: Cell | undefined;
            if (isModelPlaying) {
              try {
                cell = yield* (inOne ? askModelOnce : askModel)(ctx, game, history);
                modelMoves++;
              } catch (error) {
                if (!isModelAtFault(error)) throw error;
                isModelPlaying = false;
                yield* ctx.log("warning", `The built-in player takes over: ${error.message}`);
              }
            }
            game = play(game, cell ?? chooseCell(game));
          } else {
            const theirs = game.at(-1);
            const who = isModelPlaying ? "I have" : "The built-in player has";
            const line = boardLine(game);
            const pick = yield* ctx.elicit("pickMove", {
              // Put the essentials first: many dialogs show only the first lines, or join all lines.
              message: [
                theirs && `${who} played ${theirs.cell} (${PLACES[theirs.cell]}).`,
                `You are ${person}. Where do you play? ${line}`,
              ].filter((part) => part !== undefined).join(" ") + `\n\n${drawBoard(game)}`,
              board: drawBoard(game),
            }, { response: moveForm(empty, `Your move (${person}): ${line}`) });
            if (pick.action !== "accept") {
              return over(pick.action === "decline" ? "declined" : "cancelled");
            }
            history.push(...pick.exchange.withArguments(() => ({ board: describeBoard(game) })));
            game = play(game, pick.content.cell);
          }
        }
        const winner = winnerOf(game);
        return over(winner === undefined ? "draw" : winner === person ? "won" : "lost");
      },

      *after({ person, model }, { game, ending, opponent }) {
        const summary = `${
          howItEnded(ending, opponent)
        } (Person: ${person}, ${opponent}: ${model})`;
        return {
          content: [{ type: "text", text: `${summary}\n\n${drawBoard(game)}` }],
          structuredContent: {
            ending,
            person,
            model,
            opponent,
            moves: [...game],
            board: boardRows(game),
            summary,
          },
        };
      },
    });
}

export const playTtt = createPlayTtt();
