/** The rules of tic-tac-toe, and the built-in player. */

export type Mark = "X" | "O";

/** Cells are numbered from 1, row by row, like the keys of a telephone. */
export const CELLS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"] as const;
export type Cell = (typeof CELLS)[number];

/** The position of each cell in words. */
export const PLACES: Record<Cell, string> = {
  1: "top left",
  2: "top middle",
  3: "top right",
  4: "middle left",
  5: "centre",
  6: "middle right",
  7: "bottom left",
  8: "bottom middle",
  9: "bottom right",
};

export interface Move {
  readonly mark: Mark;
  readonly cell: Cell;
}

/** A game is the list of its moves. Everything else is derived from it. */
export type Game = readonly Move[];

const LINES: readonly (readonly Cell[])[] = [
  ["1", "2", "3"],
  ["4", "5", "6"],
  ["7", "8", "9"],
  ["1", "4", "7"],
  ["2", "5", "8"],
  ["3", "6", "9"],
  ["1", "5", "9"],
  ["3", "5", "7"],
];

export function other(mark: Mark): Mark {
  return mark === "X" ? "O" : "X";
}

/** Whose turn it is. X begins. */
export function turnOf(game: Game): Mark {
  return game.length % 2 === 0 ? "X" : "O";
}

export function markAt(game: Game, cell: Cell): Mark | undefined {
  return game.find((move) => move.cell === cell)?.mark;
}

export function emptyCells(game: Game): Cell[] {
  return CELLS.filter((cell) => markAt(game, cell) === undefined);
}

/** The mark that has three in a row, if any. */
export function winnerOf(game: Game): Mark | undefined {
  for (const line of LINES) {
    const [first, ...rest] = line.map((cell) => markAt(game, cell));
    if (first && rest.every((mark) => mark === first)) return first;
  }
  return undefined;
}

export function isOver(game: Game): boolean {
  return winnerOf(game) !== undefined || emptyCells(game).length === 0;
}

/** Plays a move. Throws if the cell is not empty or the game is over. */
export function play(game: Game, cell: Cell): Game {
  if (isOver(game)) throw new Error("Cannot play: the game is over; start a new game");
  if (markAt(game, cell)) {
    throw new Error(`Cannot play cell ${cell}: it is not empty; choose an empty cell`);
  }
  return [...game, { mark: turnOf(game), cell }];
}

const PICTURES: Record<Mark, string> = { X: "❌", O: "⭕" };
const WIDE_DIGITS = "１２３４５６７８９";

/**
 * The board for people. All characters have the same width in a terminal, and nearly the same in a
 * proportional font, so the columns stay aligned.
 */
export function drawBoard(game: Game): string {
  return pictureRows(game).map((row) => row.join(" │ ")).join("\n");
}

/** The board on one line, for dialogs that cut or join lines. */
export function boardLine(game: Game): string {
  return pictureRows(game).map((row) => row.join(" ")).join(" / ");
}

function pictureRows(game: Game): string[][] {
  const signs = CELLS.map((cell, index) => {
    const mark = markAt(game, cell);
    return mark ? PICTURES[mark] : WIDE_DIGITS[index]!;
  });
  return [0, 3, 6].map((at) => signs.slice(at, at + 3));
}

/** The board for models, in plain letters. */
export function boardRows(game: Game): string {
  const signs = CELLS.map((cell) => markAt(game, cell) ?? cell);
  return [0, 3, 6].map((at) => signs.slice(at, at + 3).join(" | ")).join("\n");
}

/** The board for models, with a list of the empty cells. */
export function describeBoard(game: Game): string {
  return `${boardRows(game)}\nEmpty cells: ${emptyCells(game).join(", ")}`;
}

/** Cells in the order of their value: the centre, the corners, the sides. */
const BY_WORTH: readonly Cell[] = ["5", "1", "3", "7", "9", "2", "4", "6", "8"];

/**
 * The built-in player's move: a cell that wins, a cell that prevents the other side from winning, or
 * the most valuable cell. The choice is deterministic, so a replayed call makes the same moves.
 */
export function chooseCell(game: Game): Cell {
  const empty = emptyCells(game);
  const [first] = empty;
  if (first === undefined) throw new Error("Cannot choose a cell: the board is full; start again");
  const mine = turnOf(game);
  const winning = empty.find((cell) => winnerOf(play(game, cell)) === mine);
  if (winning) return winning;
  const blocking = empty.find((cell) => isWonBy(game, cell));
  return blocking ?? BY_WORTH.find((cell) => empty.includes(cell)) ?? first;
}

/** True if the other side would win with this cell. */
function isWonBy(game: Game, cell: Cell): boolean {
  const theirs = other(turnOf(game));
  return winnerOf([...game, { mark: theirs, cell }]) === theirs;
}
