import assert from "node:assert/strict";
import { until } from "effection";
import { join } from "node:path";
import { OperatorLog } from "../../../src/cli/log.ts";
import { describeQuestion } from "../../../src/cli/terminal/at-terminal.ts";
import { readableResult } from "../../../src/cli/terminal/result.ts";
import { styleFor } from "../../../src/cli/terminal/style.ts";
import { visible, visibleJson, visibleNote } from "../../../src/cli/terminal/visible.ts";
import type { ToolResult } from "../../../src/model/events.ts";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useHttp } from "../../support/http-server.ts";
import { runProgram, useProgram } from "../../support/program.ts";
import { exitCode, KEYS, terminalAbsence, useTerminal } from "../../support/pty.ts";
import { HOSTILE, SHOWN } from "./hostile-tools.ts";

const tools = join(root, "tests/cli/terminal/hostile-tools.ts");
/** Everything that a terminal or a reader of text might interpret, except newline and tab. */
const OBEYED =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/;

describe("visible()", () => {
  it("shows control and bidirectional characters, and does not change the rest", () => {
    assert.equal(visible(HOSTILE), SHOWN);
    const innocent = "Grüße,\n\t日本 👩‍👩‍👧 שלום é \u00a0 \\x1b";
    assert.equal(visible(innocent), innocent);
    assert.equal(visible("a\r\nb\rc"), "a\nb\\x0dc");
    for (let code = 0; code < 0x3000; code++) {
      const text = visible(String.fromCharCode(code));
      assert.doesNotMatch(text, OBEYED, code.toString(16));
    }
  });

  it("lets no foreign line look like one of ours", () => {
    assert.equal(visibleNote("a\nerror: b"), "a\n  error: b");
  });
});

describe("visibleJson()", () => {
  it("parses as the same value", () => {
    const value = { [HOSTILE]: [HOSTILE, "\n\t"] };
    const text = visibleJson(value, 2);
    assert.doesNotMatch(text, OBEYED);
    assert.deepEqual(JSON.parse(text), value);
  });
});

describe("foreign text that is printed", () => {
  const shown = (result: Partial<ToolResult>) =>
    readableResult({ content: [], ...result } as ToolResult, styleFor(false));

  it("is visible in every kind of content", () => {
    const uri = `file:///${HOSTILE}`;
    const text = shown({
      content: [
        { type: "text", text: HOSTILE },
        { type: "text", text: JSON.stringify({ a: HOSTILE }) },
        { type: "image", data: "AAAA", mimeType: HOSTILE },
        { type: "resource_link", uri, name: HOSTILE },
        { type: "resource", resource: { uri, text: HOSTILE } },
        { type: "resource", resource: { uri, blob: "AAAA", mimeType: HOSTILE } },
        { type: HOSTILE } as never,
      ],
      structuredContent: { a: HOSTILE },
    });
    assert.doesNotMatch(text, OBEYED);
    assert.equal(text.split("gnp.exe").length, 11);
  });

  it("is visible in a question that nobody can answer", () => {
    const requestedSchema = {
      type: "object",
      properties: { [HOSTILE]: { enum: [HOSTILE] }, other: { type: "string", default: HOSTILE } },
    } as never;
    const params = { mode: "form", message: HOSTILE, requestedSchema } as const;
    const said = [
      describeQuestion({ type: "form", params, sensitive: [] }),
      describeQuestion({ type: "page", params: { mode: "url", message: HOSTILE, url: HOSTILE } }),
      describeQuestion({
        type: "sample",
        params: {
          maxTokens: 1,
          messages: [{ role: "user", content: [{ type: "text", text: HOSTILE }] }],
        },
      }),
    ].join("\n");
    assert.doesNotMatch(said, OBEYED);
  });

  it("is visible in the operator's log, as text and as JSON", () => {
    for (const format of ["text", "json"] as const) {
      const lines: string[] = [];
      const log = new OperatorLog({ level: "info", format, write: (line) => lines.push(line) });
      log.say("info", HOSTILE, { client: HOSTILE, error: HOSTILE });
      assert.doesNotMatch(lines[0]!, OBEYED, format);
    }
  });
});

describe("parley call of a hostile tool", () => {
  it("prints nothing that a terminal would execute", function* () {
    const server = yield* useProgram(["serve", tools, "--port", "0"]);
    const [url] = yield* until(server.says(/http:\S+\/mcp/));
    for (const where of [[tools], ["--url", url]]) {
      const plain = yield* runProgram(["call", "hostile_text", "{}", ...where]);
      assert.equal(plain.code, 0, plain.stderr);
      assert.equal(plain.stdout, `result${SHOWN}\n`);
      assert.ok(plain.stderr.includes(`progress${SHOWN}`), plain.stderr);
      assert.ok(plain.stderr.includes(`log${SHOWN}`), plain.stderr);
      assert.match(plain.stderr, /^warning: first\n {2}error: second$/m);
      assert.doesNotMatch(plain.stderr, OBEYED);

      const json = yield* runProgram(["call", "hostile_text", "{}", ...where, "--json"]);
      assert.doesNotMatch(json.stdout, OBEYED);
      assert.equal(JSON.parse(json.stdout).content[0].text, `result${HOSTILE}`);

      const asked = yield* runProgram(["call", "hostile", "{}", ...where]);
      assert.equal(asked.code, 1);
      assert.doesNotMatch(asked.stdout + asked.stderr, OBEYED);
    }
  });

  it("prints nothing that a terminal would execute when a server refuses", function* () {
    const url = yield* useHttp((request, response) => {
      const error = { code: -32000, message: HOSTILE };
      const body = JSON.stringify({ jsonrpc: "2.0", id: null, error });
      request.resume().on("end", () => {
        response.writeHead(401, { "content-type": "application/json" }).end(body);
      });
    });
    const { code, stderr } = yield* runProgram(["call", "any", "{}", "--url", url]);
    assert.equal(code, 1);
    assert.ok(stderr.includes(SHOWN), stderr);
    assert.doesNotMatch(stderr, OBEYED);
  });

  it.unless(terminalAbsence)("asks nothing that a terminal would execute", function* () {
    const terminal = yield* useTerminal(["call", "hostile", "{}", tools, "--model", "me"]);
    yield* until(terminal.shows(/progress\\x1b\]52/));
    yield* until(terminal.shows(/log\\x1b\]52/));
    yield* until(terminal.shows(/message\\x1b\]52/));
    yield* until(terminal.shows(/title\\x1b\]52/));
    yield* until(terminal.shows(/help\\x1b\]52/));
    terminal.type(KEYS.enter);
    yield* until(terminal.shows(/text/));
    terminal.type(`mine${KEYS.enter}`);
    yield* until(terminal.shows(/page\\x1b\]52/));
    yield* until(terminal.shows(/Open the address above in a browser\?/));
    terminal.type(KEYS.enter);
    yield* until(terminal.shows(/system: system\\x1b\]52/));
    yield* until(terminal.shows(/user: prompt\\x1b\]52/));
    yield* until(terminal.shows(/What would the model say\?/));
    terminal.type(`mine${KEYS.enter}`);
    yield* until(terminal.shows(/result\\u001b\]52/));
    assert.equal(yield* exitCode(terminal), 0);
    // The codes that colour the prompts are ours; none of these is.
    assert.doesNotMatch(
      terminal.program.stdout,
      // deno-lint-ignore no-control-regex
      /\x1b\]|\x1b\[2J|[\x07\x80-\x9f\u202e\u2066]|\rX/,
    );
  });
});
