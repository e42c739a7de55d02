import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { readHeaders } from "../../../src/server/forwarded.ts";
import type { JsonObject } from "../../../src/model/content.ts";
import {
  decodeHeader,
  mismatch as mismatchIn,
  parameterMismatch,
} from "../../../src/wire/modern/headers.ts";
import { describe, it } from "../../suite.ts";

function mismatch(headers: Headers, method: string, params: JsonObject): string | undefined {
  return mismatchIn(readHeaders(headers), method, params);
}

function base64(text: string): string {
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

describe("decodeHeader()", () => {
  it("returns plain values unchanged", () => {
    for (const value of ["", "us-west1", "a b\tc", "SGVsbG8=", "=?base64?SGVsbG8=", "x?="]) {
      assert.equal(decodeHeader(value), value);
    }
  });

  it("decodes the examples of the specification", () => {
    assert.equal(decodeHeader("=?base64?SGVsbG8sIOS4lueVjA==?="), "Hello, 世界");
    assert.equal(decodeHeader("=?base64?IHBhZGRlZCA=?="), " padded ");
    assert.equal(decodeHeader("=?base64?bGluZTEKbGluZTI=?="), "line1\nline2");
    assert.equal(decodeHeader("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), "=?base64?literal?=");
    assert.equal(decodeHeader("=?base64??="), "");
  });

  it("refuses a wrong alphabet, padding, encoding, or an invalid header character", () => {
    const wrong = [
      "=?base64?SGVsbG8?=",
      "=?base64?SGVs!!!bG8=?=",
      "=?base64?SGVsbG9=?=",
      "=?base64?SGVs bG8=?=",
      "=?base64?-_-_?=",
      "=?base64?/w==?=",
      "=?base64?7aCA?=",
      "Grüße",
      "a\u0000b",
      "\u007f",
    ];
    for (const value of wrong) assert.equal(decodeHeader(value), undefined, value);
  });

  it("recognises its markers only as they are written", () => {
    for (const value of ["=?BASE64?SGVsbG8=?=", "=?Base64?SGVsbG8=?=", "=?utf-8?SGVsbG8=?="]) {
      assert.equal(decodeHeader(value), value);
    }
  });

  it("returns every text that a client encodes", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => {
      assert.equal(decodeHeader(base64(text)), text);
    }));
    assert.equal(decodeHeader(base64("\ufeffmark")), "\ufeffmark");
  });
});

describe("mismatch()", () => {
  it("requires the method, exactly as written", () => {
    assert.equal(
      mismatch(new Headers({ "mcp-method": "tools/list" }), "tools/list", {}),
      undefined,
    );
    assert.equal(
      mismatch(new Headers({ "MCP-METHOD": "tools/list" }), "tools/list", {}),
      undefined,
    );
    for (const said of ["TOOLS/LIST", "tools/call", "", "=?base64?dG9vbHMvbGlzdA==?="]) {
      assert.ok(mismatch(new Headers({ "mcp-method": said }), "tools/list", {}), said);
    }
    assert.ok(mismatch(new Headers(), "tools/list", {}));
  });

  const named: [string, string][] = [
    ["tools/call", "name"],
    ["prompts/get", "name"],
    ["resources/read", "uri"],
    ["tasks/get", "taskId"],
    ["tasks/update", "taskId"],
    ["tasks/cancel", "taskId"],
  ];

  it("requires the name if the method has one, plain or encoded", () => {
    for (const [method, field] of named) {
      const check = (name: string | undefined, value: unknown) =>
        mismatch(
          new Headers({ "mcp-method": method, ...(name !== undefined && { "mcp-name": name }) }),
          method,
          { [field]: value },
        );
      assert.equal(check("weather", "weather"), undefined);
      assert.equal(check(base64("weather"), "weather"), undefined);
      assert.equal(check(base64("Größe"), "Größe"), undefined);
      assert.equal(check("  weather  ", "weather"), undefined);
      for (const name of [undefined, "", "Weather", "weather, weather", "=?base64?d2VhdGhlcg?="]) {
        assert.ok(check(name, "weather"), String(name));
      }
      assert.ok(check("5", 5));
      assert.ok(check("undefined", undefined));
    }
  });

  it("does not require a name for any other method", () => {
    for (const method of ["tools/list", "server/discover", "constructor", "__proto__"]) {
      assert.equal(mismatch(new Headers({ "mcp-method": method }), method, {}), undefined);
    }
  });
});

describe("parameterMismatch()", () => {
  const parameters = [
    { name: "Region", path: ["region"] },
    { name: "Deep", path: ["a", "b"] },
    { name: "Own", path: ["constructor"] },
  ];
  const check = (headers: Record<string, string>, args: unknown) =>
    parameterMismatch(new Headers(headers), parameters, args);

  it("accepts headers that match the arguments", () => {
    const agree: [Record<string, string>, unknown][] = [
      [{}, {}],
      [{}, undefined],
      [{}, { region: null, a: null }],
      [{}, { a: { c: 1 }, other: 1 }],
      [{ "mcp-param-region": "us-west1" }, { region: "us-west1" }],
      [{ "Mcp-Param-Region": base64("Süd") }, { region: "Süd" }],
      [{ "mcp-param-region": "" }, { region: "" }],
      [{ "mcp-param-region": base64(" x ") }, { region: " x " }],
      [{ "mcp-param-deep": "42" }, { a: { b: 42 } }],
      [{ "mcp-param-deep": "42.0" }, { a: { b: 42 } }],
      [{ "mcp-param-deep": "-7" }, { a: { b: -7 } }],
      [{ "mcp-param-deep": "true" }, { a: { b: true } }],
      [{ "mcp-param-unknown": "whatever" }, {}],
    ];
    for (const [headers, args] of agree) {
      assert.equal(check(headers, args), undefined, JSON.stringify([headers, args]));
    }
  });

  it("refuses headers that do not", () => {
    const differ: [Record<string, string>, unknown][] = [
      [{}, { region: "us-west1" }],
      [{}, { region: "" }],
      [{}, { a: { b: 0 } }],
      [{}, { a: { b: false } }],
      [{ "mcp-param-region": "x" }, {}],
      [{ "mcp-param-region": "null" }, { region: null }],
      [{ "mcp-param-region": "US-WEST1" }, { region: "us-west1" }],
      [{ "mcp-param-region": "=?base64?eA?=" }, { region: "x" }],
      [{ "mcp-param-region": "S\u00fcd" }, { region: "S\u00fcd" }],
      [{ "mcp-param-deep": "True" }, { a: { b: true } }],
      [{ "mcp-param-deep": "0x2a" }, { a: { b: 42 } }],
      [{ "mcp-param-deep": "4.2e1" }, { a: { b: 42 } }],
      [{ "mcp-param-deep": "" }, { a: { b: 0 } }],
      [{ "mcp-param-deep": "43" }, { a: { b: 42 } }],
      [{ "mcp-param-deep": "9007199254740993" }, { a: { b: 9007199254740992 } }],
      [{ "mcp-param-deep": "[object Object]" }, { a: { b: {} } }],
      [{ "mcp-param-deep": "x" }, { a: { b: { toString: 1, valueOf: 1 } } }],
      [{ "mcp-param-deep": "1" }, { a: { b: [1] } }],
    ];
    for (const [headers, args] of differ) {
      assert.ok(check(headers, args), JSON.stringify([headers, args]));
    }
  });
});
