import assert from "node:assert/strict";
import { until } from "effection";
import { join } from "node:path";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { exitCode, KEYS, terminalAbsence, useTerminal } from "../../support/pty.ts";
import { terminalCases } from "./terminal-cases.ts";

const tools = join(root, "tests/cli/tools.ts");
const inTerminal = it.unless(terminalAbsence);

describe("parley call in a terminal", () => {
  terminalCases();

  inTerminal("asks for missing arguments", function* () {
    const terminal = yield* useTerminal(["call", "register", tools]);
    yield* until(terminal.shows(/Arguments for register/));
    yield* until(terminal.shows(/event/));
    terminal.type(`x${KEYS.enter}`);
    yield* until(terminal.shows(/Expected at least 2 characters\./));
    terminal.type(`yz${KEYS.enter}`);
    yield* until(terminal.shows(/seats \(optional\)/));
    terminal.type(KEYS.enter);
    yield* until(terminal.shows(/Who comes to xyz\?/));
  });

  for (
    const [name, moves, expected] of [["decline", 1, "decline"], ["cancel", 2, "cancel"]] as const
  ) {
    inTerminal(`lets the person ${name} a question`, function* () {
      const terminal = yield* useTerminal(["call", "register", '{"event":"the fair"}', tools]);
      yield* until(terminal.shows(/Your name/));
      terminal.type(KEYS.escape);
      yield* until(terminal.shows(/Leave the question\?/));
      terminal.type(KEYS.down.repeat(moves));
      terminal.type(KEYS.enter);
      yield* until(terminal.shows(new RegExp(`Nobody was registered: ${expected}`)));
      assert.equal(yield* exitCode(terminal), 0);
    });
  }

  inTerminal("returns to a question that was left by mistake", function* () {
    const terminal = yield* useTerminal(["call", "register", '{"event":"the fair"}', tools]);
    yield* until(terminal.shows(/Your name/));
    terminal.type(KEYS.interrupt);
    yield* until(terminal.shows(/Leave the question\?/));
    terminal.type(KEYS.enter);
    yield* until(terminal.shows(/Your name/));
  });

  inTerminal("stops the tool when the person cancels", function* () {
    const terminal = yield* useTerminal(["call", "register", '{"event":"the fair"}', tools]);
    yield* until(terminal.shows(/Your name/));
    terminal.type(KEYS.interrupt);
    yield* until(terminal.shows(/Leave the question\?/));
    terminal.type(KEYS.interrupt);
    yield* until(terminal.shows(/Stopped\./));
    assert.equal(yield* exitCode(terminal), 130);
    // On its own line: the bar that was there is gone.
    // deno-lint-ignore no-control-regex
    assert.match(terminal.program.stdout, /\r\x1b\[K(?:\x1b\[\d+m)*Stopped\./);
  });

  inTerminal(
    "says what is wrong with a command line on one line, and nothing after it",
    function* () {
      const terminal = yield* useTerminal(["call", "--nope"]);
      assert.equal(yield* exitCode(terminal), 2);
      assert.match(terminal.shown, /^Cannot use option "--nope": [^\r\n]+\r\n$/);
    },
  );

  inTerminal("lets the person answer for the model, in words and with data", function* () {
    const terminal = yield* useTerminal(["call", "advise", tools]);
    yield* until(terminal.shows(/user: What is the capital of Styria\?/));
    yield* until(terminal.shows(/What would the model say\?/));
    terminal.type(`Graz${KEYS.enter}`);
    yield* until(terminal.shows(/How many people live there\?/));
    yield* until(terminal.shows(/people/));
    terminal.type(`many${KEYS.enter}`);
    yield* until(terminal.shows(/Expected a whole number\./));
    terminal.type(`${"\x7f".repeat(4)}300000${KEYS.enter}`);
    yield* until(terminal.shows(/Graz: 300000/));
    assert.equal(yield* exitCode(terminal), 0);
  });

  inTerminal("asks whether the person wants to open a page", function* () {
    const terminal = yield* useTerminal(["call", "visit", tools]);
    yield* until(terminal.shows(/https:\/\/example\.com\/login/));
    yield* until(terminal.shows(/Open the address above in a browser\?/));
    terminal.type(`${KEYS.down}${KEYS.enter}`);
    yield* until(terminal.shows(/decline/));
    assert.equal(yield* exitCode(terminal), 0);
  });

  inTerminal("assumes 80 columns if the terminal reports no size", function* () {
    const call = ["call", "register", '{"event":"the fair"}', tools];
    const terminal = yield* useTerminal(call, { columns: 0 });
    yield* until(terminal.shows(/━+─+ +25% Looking for a place/));
    yield* until(terminal.shows(/Who comes to the fair\?/));
    yield* until(terminal.shows(/Your name/));
    terminal.type(`Ann${KEYS.enter}`);
    yield* until(terminal.shows(/age/));
    terminal.type(`19${KEYS.enter}`);
    yield* until(terminal.shows(/meat[^]*fish/));
    terminal.type(KEYS.interrupt);
    yield* until(terminal.shows(/Leave the question\?[^]*Go back to it[^]*Stop the tool/));
    terminal.type(KEYS.interrupt);
    yield* until(terminal.shows(/Stopped\./));
    assert.equal(yield* exitCode(terminal), 130);
  });

  inTerminal("removes a question when the tool no longer waits for it", function* () {
    const terminal = yield* useTerminal(["call", "nobody_there", tools]);
    yield* until(terminal.shows(/Is anybody there\?/));
    yield* until(terminal.shows(/timeout/));
    assert.equal(yield* exitCode(terminal), 0);
  });
});

describe("colours", () => {
  inTerminal("are used in a terminal", function* () {
    const terminal = yield* useTerminal(["--help"]);
    assert.equal(yield* exitCode(terminal), 0);
    // deno-lint-ignore no-control-regex
    assert.match(terminal.program.stdout, /\x1b\[36m/);
  });

  inTerminal("are not used if NO_COLOR is set", function* () {
    for (const args of [["--help"], ["tools", tools], ["serve", "--nonsense"]]) {
      const terminal = yield* useTerminal(args, { env: { NO_COLOR: "1" } });
      yield* exitCode(terminal);
      // deno-lint-ignore no-control-regex
      assert.doesNotMatch(terminal.program.stdout, /\x1b\[\d+m/, args.join(" "));
    }
  });
});
