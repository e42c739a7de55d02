/** The board of `play_ttt` as a view: hosts with MCP Apps show it, and the person clicks on a cell. */
import { askingView } from "parley-mcp";

const STYLE = `
.board { display: grid; grid-template-columns: repeat(3, 1fr); gap: .4rem; width: min(18rem, 100%); }
.cell { display: grid; place-items: center; aspect-ratio: 1; min-height: 0; padding: 0; font-size: 2.2rem;
  line-height: 1; border: 0; border-radius: var(--round); background: var(--shade); }
button.cell { color: var(--quiet); font-size: 1rem; border: 1px solid var(--line); }
button.cell:hover { background: var(--accent); color: var(--on-accent); }
.cell.x { color: var(--accent) } .cell.o { color: var(--wrong) }
.cell.won { background: var(--accent); color: var(--on-accent) }
`;

/**
 * Runs in the view. It reads the marks from the picture in the message, and the empty cells from
 * the form, so that it needs nothing that other clients do not get.
 */
const SCRIPT = `
const PLACES = ["top left", "top middle", "top right", "middle left", "centre", "middle right",
  "bottom left", "bottom middle", "bottom right"];
const LINES = ["012", "345", "678", "036", "147", "258", "048", "246"];
const SIGNS = { X: "\\u2715", O: "\\u25ef" };

function heading(text) {
  const made = document.createElement("h1");
  made.textContent = text;
  return made;
}

function board(marks, answer) {
  const grid = document.createElement("div");
  grid.className = "board";
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Board");
  const line = LINES.find((line) => marks[line[0]] &&
    [...line].every((at) => marks[at] === marks[line[0]])) ?? "";
  marks.forEach((mark, at) => {
    const isFree = answer && !mark;
    const cell = document.createElement(isFree ? "button" : "div");
    cell.className = "cell" + (mark ? " " + mark.toLowerCase() : "") +
      (line.includes(at) ? " won" : "");
    cell.textContent = mark ? SIGNS[mark] : isFree ? at + 1 : "";
    cell.setAttribute("aria-label", (at + 1) + ": " + PLACES[at] + ", " + (mark ?? "empty"));
    if (isFree) {
      cell.type = "button";
      cell.addEventListener("click", () => answer({ cell: String(at + 1) }));
    } else cell.setAttribute("role", "img");
    grid.append(cell);
  });
  return grid;
}

function shown(title, ...parts) {
  const all = document.createElement("div");
  all.append(heading(title), ...parts);
  return all;
}

globalThis.parley = {
  question({ message, requestedSchema }, answer) {
    const free = requestedSchema.properties?.cell?.oneOf?.map((choice) => choice.const);
    const signs = message.split("\\n").filter((row) => row.includes("│"))
      .flatMap((row) => row.split("│")).map((sign) => sign.trim());
    if (!free || signs.length !== 9) return undefined;
    const marks = signs.map((sign) => ({ "❌": "X", "⭕": "O" })[sign]);
    const said = message.slice(0, message.indexOf("?") + 1);
    return shown(said || "Where do you play?", board(marks, answer));
  },
  result({ structuredContent: data }) {
    if (!Array.isArray(data?.moves)) return undefined;
    const marks = Array(9).fill(undefined);
    for (const { mark, cell } of data.moves) marks[Number(cell) - 1] = mark;
    const endings = { won: "You have won.", lost: "You have lost.", draw: "It is a draw." };
    return shown(endings[data.ending] ?? data.summary, board(marks));
  },
};
`;

export default askingView({ title: "Tic-tac-toe", style: STYLE, script: SCRIPT });
