/** A whole interactive tool, through a real terminal, however the program is started. */
import assert from "node:assert/strict";
import { until } from "effection";
import { join } from "node:path";
import { root } from "../../harness/files.ts";
import { it } from "../../suite.ts";
import { fromSource, type Start, useProgram } from "../../support/program.ts";
import { exitCode, KEYS, type Terminal, terminalAbsence, useTerminal } from "../../support/pty.ts";

const tools = join(root, "tests/cli/tools.ts");
const SECRET = "s3cret-pin";

export function terminalCases(start: () => Start = fromSource): void {
  const call = ["call", "register", '{"event":"the fair"}'];
  const name = "goes through a whole form, with its checks, and prints the result";
  const inTerminal = it.unless(terminalAbsence);
  inTerminal(`${name}, in process`, function* () {
    const terminal = yield* useTerminal([...call, tools], { start: start() });
    yield* fill(terminal);
    assert.equal(yield* exitCode(terminal), 0);
  });

  inTerminal(`${name}, on a server`, function* () {
    const args = ["serve", tools, "--port", "0", "--allow-form-passwords"];
    const server = yield* useProgram(args, { start: start() });
    const [url] = yield* until(server.says(/http:\S+\/mcp/));
    const terminal = yield* useTerminal([...call, "--url", url], { start: start() });
    yield* fill(terminal);
    assert.equal(yield* exitCode(terminal), 0);
    assert.doesNotMatch(server.stdout + server.stderr, new RegExp(SECRET));
  });
}

function* fill(terminal: Terminal) {
  yield* until(terminal.shows(/━+─+ +25% Looking for a place/));
  yield* until(terminal.shows(/Who comes to the fair\?/));
  yield* until(terminal.shows(/Your name/));
  terminal.type(`Ann${KEYS.enter}`);
  yield* until(terminal.shows(/age/));
  terminal.type(`17${KEYS.enter}`);
  yield* until(terminal.shows(/Expected at least 18\./));
  terminal.type(`\x7f9${KEYS.enter}`);
  yield* until(terminal.shows(/fish/));
  terminal.type(`${KEYS.down}${KEYS.enter}`);
  yield* until(terminal.shows(/sun/));
  terminal.type(` ${KEYS.enter}`);
  yield* until(terminal.shows(/newsletter/));
  terminal.type("n");
  yield* until(terminal.shows(/birthday/));
  terminal.type(KEYS.enter);
  yield* until(terminal.shows(/pin/));
  terminal.type(`${SECRET}${KEYS.enter}`);
  yield* until(terminal.shows(/Shall it be binding\?/));
  yield* until(terminal.shows(/Do you agree\?/));
  terminal.type(KEYS.enter);
  yield* until(terminal.shows(/"binding": "accept"/));
  for (const line of ['"name": "Ann"', '"age": 19', '"meal": "fish"', '"newsletter": false']) {
    assert.ok(terminal.shown.includes(line), line);
  }
  assert.doesNotMatch(terminal.shown, /birthday":/);
  assert.ok(!terminal.shown.includes(SECRET), "the secret was shown");
}
