/** What a new user sees first, in a real terminal of 80 columns, with and without colours. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { describedCommands } from "../../scripts/flags-reference.ts";
import { describe, it } from "../suite.ts";
import { fromSource, type ProgramOptions } from "../support/program.ts";
import { exitCode, type Terminal, terminalAbsence, useTerminal } from "../support/pty.ts";

const inTerminal = it.unless(terminalAbsence);
const RED = "\x1b[31m";

/** With and without. */
const COLOURS: readonly (readonly [string, ProgramOptions["env"] & object])[] = [
  ["with colours", { NO_COLOR: undefined, PARLEY_KEY: undefined }],
  ["without colours", { NO_COLOR: "1", PARLEY_KEY: undefined }],
];

/** Types a line into a shell in which `parley` is the program. */
function* typed(line: string, env: ProgramOptions["env"] & object): Operation<Terminal> {
  const parley = fromSource().map((word) => `'${word}'`).join(" ");
  const script = `parley() { ${parley} "$@"; }; ${line}`;
  return yield* useTerminal([], { start: ["sh", "-c", script], env });
}

/** Whether anything is coloured or bold; Deno's own progress is neither. */
function isPainted({ program }: Terminal): boolean {
  // deno-lint-ignore no-control-regex
  return /\x1b\[[\d;]*m/.test(program.stdout);
}

function tooLong({ shown }: Terminal): string[] {
  return shown.split(/\r?\n/).filter((line) => line.length > 80);
}

for (const [how, env] of COLOURS) {
  describe(`in a terminal of 80 columns, ${how},`, () => {
    inTerminal("the help of every command fits", function* () {
      const names = describedCommands().map((command) => command.name());
      assert.ok(names.length >= 9);
      const lines = ["--help", ...names.map((name) => `${name} --help`)];
      const terminal = yield* typed(lines.map((line) => `parley ${line}`).join(" && "), env);
      assert.equal(yield* exitCode(terminal), 0, terminal.shown);
      for (const name of names) assert.match(terminal.shown, new RegExp(`Usage: parley ${name}`));
      assert.deepEqual(tooLong(terminal), []);
      assert.equal(isPainted(terminal), env.NO_COLOR === undefined);
    }, { within: 60_000 });

    inTerminal("the first start fits, and only errors are red", function* () {
      const terminal = yield* typed("parley serve --port 0", env);
      yield* until(terminal.shows(/PARLEY_KEY is not set/));
      terminal.type("\x03");
      yield* until(terminal.shows(/stopped/));
      yield* exitCode(terminal);
      assert.deepEqual(tooLong(terminal), []);
      assert.ok(!terminal.program.stdout.includes(RED), JSON.stringify(terminal.program.stdout));
      assert.equal(isPainted(terminal), env.NO_COLOR === undefined);
    });

    inTerminal("a mistake is reported in one line, red if there are colours", function* () {
      const terminal = yield* typed("parley serve no-such-folder", env);
      assert.equal(yield* exitCode(terminal), 1);
      assert.match(terminal.shown, /^Cannot load "no-such-folder": .+; check the path\r?\n$/);
      assert.equal(terminal.program.stdout.includes(RED), env.NO_COLOR === undefined);
    });
  });
}
