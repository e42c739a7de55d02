/** A person at a terminal of 80 columns and 24 rows sees each question as a whole. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { join } from "node:path";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { exitCode, KEYS, type Terminal, terminalAbsence, useTerminal } from "../../support/pty.ts";
import { Screen } from "../../support/screen.ts";

const game = join(root, "tests/cli/terminal/toss.ts");
const SIZE = { rows: 24, columns: 80 };
const inTerminal = it.unless(terminalAbsence);
/** The end of the list of keys, below the choices of a prompt. */
const PROMPT = /Enter: confirm/;

function* useSmallTerminal(args: readonly string[]): Operation<Terminal> {
  const env = { PARLEY_MODEL: undefined };
  return yield* useTerminal(args, { ...SIZE, env });
}

/** What is on the screen, once it shows `last`. Fails if the first line of the question is gone. */
function* question(terminal: Terminal, first: RegExp, last: RegExp): Operation<string> {
  yield* until(terminal.shows(last));
  const { lines } = new Screen(terminal.program.stdout, SIZE);
  const screen = lines.join("\n");
  const at = lines.findLastIndex((line) => first.test(line));
  assert.notEqual(at, -1, `${first} is not on the screen:\n${screen}`);
  return lines.slice(at).join("\n");
}

describe("parley call in a terminal of 24 rows", () => {
  inTerminal("shows each question of a game as a whole, and only what is new", function* () {
    const terminal = yield* useSmallTerminal(["call", "play_ttt", game]);
    const asks = /The tool asks the model/;
    for (let round = 0; round < 2; round++) {
      const strategy = yield* question(terminal, asks, PROMPT);
      assert.match(strategy, /It is your turn\./);
      // The person gave these answers, and has seen them.
      if (round > 0) assert.doesNotMatch(strategy, /assistant|__schema__|Let us play/);
      terminal.type(KEYS.enter);
      yield* until(terminal.shows(/reasoning/));
      terminal.type(`because${KEYS.enter}`);
      const cell = yield* question(terminal, asks, PROMPT);
      assert.match(cell, /Pick one of the empty cells/);
      assert.doesNotMatch(cell, /\[gets|"type"/);
      terminal.type(KEYS.enter);
      const move = yield* question(terminal, /The tool asks ─/, PROMPT);
      assert.match(move, /Where do you play\?/);
      terminal.type(KEYS.enter);
    }
    assert.equal(terminal.shown.match(/no model is set/g)?.length, 1);
    const line = terminal.shown.split(/[\r\n]+/).find((one) => one.includes("no model is set"))!;
    assert.match(line, /PARLEY_MODEL/);
    assert.ok(line.length <= SIZE.columns, line);
    yield* question(terminal, asks, PROMPT);
    terminal.type(KEYS.interrupt);
    assert.equal(yield* exitCode(terminal), 130);
  });

  inTerminal("shows each question of a booking as a whole", function* () {
    const terminal = yield* useSmallTerminal(["call", "book_flight", '{"from":"BER","to":"LIS"}']);
    for (const asked of [/best value/, /most convenient/]) {
      const flight = yield* question(terminal, /The tool asks the model/, PROMPT);
      assert.match(flight, asked);
      terminal.type(KEYS.enter);
      yield* until(terminal.shows(/why/));
      terminal.type(`because${KEYS.enter}`);
    }
    const choice = yield* question(terminal, /The tool asks ─/, PROMPT);
    assert.match(choice, /PY 149/);
    terminal.type(KEYS.enter);
    const confirm = yield* question(terminal, /The tool asks ─/, /● Yes/);
    assert.match(confirm, /Book PY 101/);
    // It has a default, so it is always answered.
    assert.doesNotMatch(confirm, /optional/);
    terminal.type(KEYS.enter);
    const seat = yield* question(terminal, /The tool asks ─/, PROMPT);
    assert.match(seat, /aisle/);
    terminal.type(KEYS.enter);
    assert.equal(yield* exitCode(terminal), 0);
    const { lines } = new Screen(terminal.program.stdout, SIZE);
    assert.ok(lines.some((line) => line.includes("booked")), lines.join("\n"));
  });
});
