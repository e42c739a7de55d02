import assert from "node:assert/strict";
import { join } from "node:path";
import { until } from "effection";
import { styleFor } from "../../../src/cli/terminal/style.ts";
import { wireTrace } from "../../../src/cli/calls/wire-trace.ts";
import { SENSITIVE } from "../../../src/wire/elicitation.ts";
import { root } from "../../harness/files.ts";
import { runProgram, useProgram } from "../../support/program.ts";
import { describe, it } from "../../suite.ts";

const TOOLS = join(root, "tests/cli/commands/trace-tools.ts");

describe("parley call --trace", () => {
  it("prints the events of a call as they happen, on stderr", function* () {
    const args = ["call", "count", "{}", TOOLS, "--trace"];
    const { code, stdout, stderr } = yield* runProgram(args);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim(), "done");
    const types = [...stderr.matchAll(/^ +(\d+) {2}(\w+)/gm)].map(([, lsn, type]) =>
      `${lsn} ${type}`
    );
    assert.deepEqual(types, ["1 progress", "2 progress", "3 result"]);
    const plain = yield* runProgram(args.slice(0, -1));
    assert.ok(!/^ +\d+ {2}\w+/m.test(plain.stderr));
  });

  it("prints the messages on the wire with --url", function* () {
    const server = yield* useProgram(["serve", TOOLS, "--port", "0"]);
    const [url] = yield* until(server.says(/http:\/\/127\.0\.0\.1:\d+/));
    const { code, stderr } = yield* runProgram(["call", "count", "{}", "--url", url!, "--trace"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^→ \{.*"method":"tools\/call"/m);
    assert.match(stderr, /^← \{.*"done"/m);
  });
});

describe("wireTrace()", () => {
  const traced = (...messages: readonly [from: "client" | "server", text: string][]) => {
    const lines: string[] = [];
    const trace = wireTrace((line) => lines.push(line), styleFor(false));
    for (const [from, text] of messages) trace({ from, text });
    return lines;
  };

  it("masks the values of sensitive fields in all later messages", () => {
    const ask = {
      method: "elicitation/create",
      params: {
        requestedSchema: { properties: { pin: { type: "string" } } },
        _meta: { [SENSITIVE]: ["pin"] },
      },
    };
    const answer = { result: { action: "accept", content: { pin: "1234", name: "Ann" } } };
    const [asked, answered] = traced(
      ["server", JSON.stringify(ask)],
      ["client", JSON.stringify(answer)],
    );
    assert.match(asked!, /"pin":\{"type":"string"\}/);
    assert.ok(!answered!.includes("1234"), answered);
    assert.match(answered!, /"name":"Ann"/);
  });

  it("prints what is not JSON, and makes control characters visible", () => {
    const [line, json] = traced(["server", "\x1b]52;c;x\x07"], ["server", '{"a":"\x9b"}']);
    // deno-lint-ignore no-control-regex
    assert.ok(!/[\x00-\x1f\x7f-\x9f]/.test(line! + json!), line);
    assert.ok(traced(["server", `"${"x".repeat(5_000)}"`])[0]!.length < 2_100);
  });
});
