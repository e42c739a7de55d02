import assert from "node:assert/strict";
import { choicesOf, fieldsOf, typeOf } from "../../../src/cli/terminal/fields.ts";
import { OperatorLog, type OperatorLogLevel } from "../../../src/cli/log.ts";
import { describeQuestion } from "../../../src/cli/terminal/at-terminal.ts";
import { readableResult } from "../../../src/cli/terminal/result.ts";
import { styleFor } from "../../../src/cli/terminal/style.ts";
import { wrapped } from "../../../src/cli/terminal/terminal.ts";
import type { ToolResult, ToolSessionOutcome } from "../../../src/model/events.ts";
import { describe, it } from "../../suite.ts";

const plain = styleFor(false);

describe("styleFor()", () => {
  it("uses colours on a terminal only, and not if the person refuses them", () => {
    assert.equal(styleFor(true, {}).red("x"), "\x1b[31mx\x1b[39m");
    for (
      const [isTerminal, env] of [
        [false, {}],
        [true, { NO_COLOR: "1" }],
        [true, { TERM: "dumb" }],
      ] as const
    ) assert.equal(styleFor(isTerminal, env).red("x"), "x");
  });
});

describe("typeOf()", () => {
  it("describes in words what a field accepts", () => {
    const cases: [object, string][] = [
      [{ type: "string" }, "text"],
      [{ type: "string", minLength: 2, maxLength: 5 }, "text of 2 to 5 characters"],
      [{ type: "string", format: "email" }, "e-mail address"],
      [{ type: "string", format: "uuid" }, "text (uuid)"],
      [{ type: "integer", minimum: 1 }, "whole number at least 1"],
      [{ type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 }, "whole number"],
      [{ type: "number", maximum: 3 }, "number at most 3"],
      [{ type: "boolean", default: true }, "yes or no, default: true"],
      [{ enum: ["a", "b"] }, "one of a, b"],
      [{ type: "array", items: { enum: ["a", "b"] } }, "any number of: one of a, b"],
      [{ type: ["string", "null"] }, "text or nothing"],
      [{ const: 3 }, "3"],
      [{}, "anything"],
    ];
    for (const [schema, words] of cases) assert.equal(typeOf({ ...schema }), words);
  });
});

describe("choicesOf()", () => {
  it("reads choices in the format of every revision", () => {
    const expected = [{ value: "a", label: "Ann" }, { value: "b", label: "Bob" }];
    const titled = [{ const: "a", title: "Ann" }, { const: "b", title: "Bob" }];
    for (
      const schema of [
        { enum: ["a", "b"], enumNames: ["Ann", "Bob"] },
        { oneOf: titled },
        { anyOf: titled },
      ]
    ) assert.deepEqual(choicesOf(schema), expected);
    assert.equal(choicesOf({ oneOf: [{ type: "string" }] }), undefined);
    assert.equal(choicesOf({ type: "string" }), undefined);
  });
});

describe("fieldsOf()", () => {
  it("accepts invalid schemas", () => {
    assert.deepEqual(fieldsOf({}), []);
    assert.deepEqual(fieldsOf({ properties: { a: true }, required: "a" }), [
      { name: "a", schema: {}, required: false },
    ]);
  });
});

describe("readableResult()", () => {
  const shown = (result: Partial<ToolResult>) =>
    readableResult({ content: [], ...result } as ToolResult, plain);

  it("prints each kind of content in its own way", () => {
    assert.equal(
      shown({
        content: [
          { type: "text", text: "hello" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "resource_link", uri: "file:///x", name: "x", title: "The X" },
          { type: "resource", resource: { uri: "file:///y", text: "inside" } },
          { type: "resource", resource: { uri: "file:///z", blob: "A".repeat(4_000) } },
        ],
      }),
      [
        "hello",
        "[image, image/png, 3 bytes]",
        "The X <file:///x>",
        "<file:///y>\ninside",
        "[<file:///z>, unknown type, 3 kB]",
      ].join("\n\n"),
    );
  });

  it("prints data once, readably", () => {
    const structuredContent = { a: 1 };
    const content = [{ type: "text" as const, text: '{"a":1}' }];
    assert.equal(shown({ content, structuredContent }), '{\n  "a": 1\n}');
    assert.equal(shown({ content }), '{\n  "a": 1\n}');
    assert.equal(shown({ content: [{ type: "text", text: "null" }] }), "null");
  });
});

describe("wrapped()", () => {
  it("breaks between words, and keeps paragraphs and indent", () => {
    assert.deepEqual(wrapped("one two three four five six\nseven", 22, "  "), [
      "  one two three four",
      "  five six",
      "  seven",
    ]);
  });
});

describe("describeQuestion()", () => {
  it("says for each question what would have been asked", () => {
    assert.match(
      describeQuestion({
        type: "page",
        params: { mode: "url", message: "Sign in", url: "https://x" },
      }),
      /Sign in\n {2}https:\/\/x/,
    );
    assert.match(describeQuestion({ type: "roots" }), /folders/);
  });
});

describe("OperatorLog", () => {
  const lines: string[] = [];
  const log = (level: OperatorLogLevel, format: "text" | "json" = "text") => {
    lines.length = 0;
    const now = () => new Date("2026-05-01T12:00:00Z");
    return new OperatorLog({ level, format, now, write: (line) => lines.push(line) });
  };
  const call = (outcome: ToolSessionOutcome) => ({
    kind: "tool" as const,
    toolName: "greet",
    sessionId: "s1",
    client: { name: "app", version: "1", protocolVersion: "2025-06-18", capabilities: {} },
    principal: "ann",
    duration: 12.4,
    outcome,
  });

  it("prints nothing below its level", () => {
    for (
      const [level, count] of [["debug", 4], ["info", 3], ["error", 1], ["silent", 0]] as const
    ) {
      const quiet = log(level);
      for (const each of ["debug", "info", "warning", "error"] as const) quiet.say(each, "x");
      assert.equal(lines.length, count, level);
    }
  });

  it("prints how each call ended, in one line", () => {
    const told = log("info");
    told.call(call({ status: "completed", result: { content: [] } }));
    told.call(call({ status: "completed", result: { content: [], isError: true } }));
    told.call(call({ status: "cancelled", reason: "the client left" }));
    told.call(call({ status: "failed", error: { code: 1, message: "broke" } }));
    const rest = 'ms=12 session=s1 client="app 1" era=legacy protocol=2025-06-18';
    assert.deepEqual(lines, [
      `12:00:00Z info    tool greet completed ${rest}`,
      `12:00:00Z info    tool greet refused ${rest}`,
      `12:00:00Z info    tool greet cancelled ${rest} reason="the client left"`,
      `12:00:00Z error   tool greet failed ${rest} reason=broke`,
    ]);
  });

  it("escapes what could forge a line or change the terminal", () => {
    log("info").say("info", "a\nb", { client: "x\n12:00:00Z error \x1b[31mforged" });
    assert.deepEqual(lines, ['12:00:00Z info    a b client="x 12:00:00Z error  [31mforged"']);
    log("info", "json").say("info", "a\nb", { client: "x\n" });
    assert.deepEqual(JSON.parse(lines[0]!), {
      time: "2026-05-01T12:00:00.000Z",
      level: "info",
      message: "a\nb",
      client: "x\n",
    });
  });

  it("prints where a tool broke", () => {
    const error = new Error("broke");
    log("error").fault({ what: "it threw", toolName: "greet", sessionId: "s1", error });
    assert.match(
      lines[0]!,
      /^12:00:00Z error {3}it threw tool=greet session=s1\n {4}Error: broke\n {4}.*text\.test/,
    );
  });
});
