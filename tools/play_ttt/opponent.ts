/** The built-in player: it plays where there is no model, and never needs to be asked twice. */
import { type Cell, emptyCells, type Game, other, play, turnOf, winnerOf } from "./board.ts";

/** The centre, the corners, the sides. */
const BY_WORTH: readonly Cell[] = ["5", "1", "3", "7", "9", "2", "4", "6", "8"];

/**
 * The cell to play next: one that wins, one that the other side would win with, or the
 * most valuable one. The same game always gets the same move, so a call that is replayed
 * takes the same course.
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

/** Whether the side that is not to move would win with this cell. */
function isWonBy(game: Game, cell: Cell): boolean {
  const theirs = other(turnOf(game));
  return winnerOf([...game, { mark: theirs, cell }]) === theirs;
}
