/** `parley call` in a real terminal, against servers that were made with other frameworks. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { join } from "node:path";
import { freePort } from "../docs/free-port.ts";
import { root } from "../harness/files.ts";
import { installPeers } from "../harness/peers.ts";
import { useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { type Program, type Start, useProgram } from "../support/program.ts";
import { exitCode, KEYS, type Terminal, terminalAbsence, useTerminal } from "../support/pty.ts";

const peers = join(root, "tests/peers");
const inTerminal = it.unless(terminalAbsence);
const within = 120_000;

/** mcp-use would write a file into this folder, and report its use to its makers. */
const QUIET = { MCP_USE_ANONYMIZED_TELEMETRY: "false" };

/** Starts a program of tests/peers, and returns its address. */
function* usePeer(file: string, args: readonly string[] = []): Operation<string> {
  installPeers();
  const port = yield* until(freePort());
  const start: Start = [useRuntime("bun").path, join(peers, file)];
  const server: Program = yield* useProgram(args, { start, env: { PORT: String(port), ...QUIET } });
  // The first connection may come before the server listens.
  const isEverything = args.length > 0;
  yield* until(
    isEverything
      ? server.says(/listening on port/)
      : server.says(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/m, "stdout"),
  );
  const [printed] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(server.stdout) ?? [];
  return printed ?? `http://127.0.0.1:${port}/mcp`;
}

function* answer(terminal: Terminal): Operation<void> {
  yield* until(terminal.shows(/A room with 2 beds\?/));
  yield* until(terminal.shows(/guest/i));
  terminal.type(`Ann${KEYS.enter}`);
  yield* until(terminal.shows(/breakfast/i));
  terminal.type("y");
  yield* until(terminal.shows(/Booked for Ann, breakfast: true/));
}

/** The fields of the form after its first, in their order. Enter leaves each at its default. */
const FIELDS = [
  /Boolean/,
  /String with default/,
  /String with email format/,
  /String with uri format/,
  /String with date format/,
  /Integer/,
  /Number in range/,
  /Untitled Single Select/,
  /Untitled Multiple Select/,
  /Titled Single Select/,
  /Titled Multiple Select/,
  /Legacy Titled/,
];

describe("parley call, with a server of another framework", () => {
  for (const framework of ["fastmcp", "tmcp", "mcp-use"]) {
    inTerminal(`answers a question of ${framework}`, function* () {
      const url = yield* usePeer(`servers/${framework}.mjs`);
      const terminal = yield* useTerminal(["call", "book", '{"beds":2}', "--url", url]);
      yield* answer(terminal);
      assert.equal(yield* exitCode(terminal), 0);
    }, { within });

    inTerminal(`declines a question of ${framework}`, function* () {
      const url = yield* usePeer(`servers/${framework}.mjs`);
      const terminal = yield* useTerminal(["call", "book", '{"beds":2}', "--url", url]);
      yield* until(terminal.shows(/A room with 2 beds\?/));
      yield* until(terminal.shows(/guest/i));
      terminal.type(KEYS.escape);
      yield* until(terminal.shows(/Leave the question\?/));
      terminal.type(KEYS.down);
      terminal.type(KEYS.enter);
      yield* until(terminal.shows(/Not booked: decline/));
      assert.equal(yield* exitCode(terminal), 0);
    }, { within });
  }

  inTerminal("fills the form of server-everything", function* () {
    const url = yield* usePeer(
      "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
      ["streamableHttp"],
    );
    const terminal = yield* useTerminal([
      "call",
      "trigger-elicitation-request",
      "{}",
      "--url",
      url,
    ]);
    yield* until(terminal.shows(/Please provide inputs/));
    yield* until(terminal.shows(/String/));
    terminal.type(`Ann${KEYS.enter}`);
    for (const field of FIELDS) {
      yield* until(terminal.shows(field));
      terminal.type(KEYS.enter);
    }
    yield* until(terminal.shows(/"name": "Ann"/));
    assert.equal(yield* exitCode(terminal), 0);
  }, { within });
});
