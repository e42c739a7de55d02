/**
 * A server that runs out of file descriptors. `deno task exhaust descriptors` does the same
 * with 20,000 of them.
 */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { RawClient } from "../platform/raw-client.ts";
import { describe, it } from "../suite.ts";
import { ABLE, initialize } from "../support/legacy/client.ts";
import { Crowd, descriptorsOf, UNFINISHED } from "../support/crowd.ts";
import { fromSource, type Program, useProgram } from "../support/program.ts";
import { noticed } from "../support/turn.ts";

const LIMIT = 160;
/** More than the limit allows; fewer than a listener's queue holds. */
const MANY = 300;
const onLinux = it.when(process.platform === "linux");
const onDeno = it.when(process.platform === "linux" && currentRuntime() === "deno");

function* serveWithFewDescriptors(): Operation<{ program: Program; port: number }> {
  const tools = join(root, "tests/transport/stdio/tools.ts");
  const program = yield* useProgram(["serve", tools, "--port", "0"], {
    start: ["sh", "-c", `ulimit -n ${LIMIT} && exec "$@"`, "sh", ...fromSource()],
  });
  const [, port] = yield* until(program.says(/http:\/\/127\.0\.0\.1:(\d+)\/mcp/));
  return { program, port: Number(port) };
}

/** Takes every descriptor that the server may have. */
async function exhaust(program: Program, port: number, says = ""): Promise<Crowd> {
  const crowd = new Crowd(port, MANY, says);
  if (currentRuntime() === "deno") await program.says(/cannot accept connections/);
  else await noticed(() => descriptorsOf(program.child.pid!) >= LIMIT);
  return crowd;
}

/** Retries until a connection is accepted: while a listener is reopened, none is. */
async function answersAgain(port: number): Promise<number> {
  for (;;) {
    try {
      return (await fetch(`http://127.0.0.1:${port}/healthz`)).status;
    } catch {
      // Refused or reset.
    }
  }
}

describe("parley serve, out of file descriptors", () => {
  onLinux(
    "serves again once the connections are gone, and finishes the running call",
    function* () {
      const { program, port } = yield* serveWithFewDescriptors();
      const client = yield* until(RawClient.connect(port));
      client.post(initialize({ capabilities: ABLE }));
      const [, id] = yield* until(client.take(/mcp-session-id: (\S+)/i));
      yield* until(client.take(/"serverInfo":\{.*?\}\}\}/));
      const session = { "mcp-session-id": id! };
      const params = { name: "add", arguments: { a: 2 } };
      client.post({ jsonrpc: "2.0", id: 7, method: "tools/call", params }, session);
      const [, question] = yield* until(client.take(/"id":"(elicit_[^"]+)"/));

      const crowd = yield* until(exhaust(program, port));
      crowd.leave();
      assert.equal(yield* until(answersAgain(port)), 200);

      const answerer = yield* until(RawClient.connect(port));
      const result = { action: "accept", content: { b: 3 } };
      answerer.post({ jsonrpc: "2.0", id: question, result }, session);
      assert.equal(yield* until(answerer.status()), 202);
      yield* until(client.take(/"text":"5"/));
      client.vanish();
      answerer.vanish();
      program.signal("SIGTERM");
      assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
    },
  );

  onDeno(
    "closes connections that are silent or never finish their headers, to serve others",
    function* () {
      for (const says of ["", UNFINISHED]) {
        const { program, port } = yield* serveWithFewDescriptors();
        const crowd = yield* until(exhaust(program, port, says));
        // None of them leaves by itself. Those that came after the listener was reopened may stay.
        yield* until(noticed(() => crowd.gone > MANY - LIMIT));
        assert.equal(yield* until(answersAgain(port)), 200);
        assert.equal(program.stderr.match(/cannot accept connections/g)?.length, 1);
        crowd.leave();
      }
    },
  );
});
