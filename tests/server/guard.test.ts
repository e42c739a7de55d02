import assert from "node:assert/strict";
import { accepts, Guard, isType, pathOf } from "../../src/server/guard.ts";
import { describe, it } from "../suite.ts";

function refuses(guard: Guard, headers: Record<string, string>, url = "http://localhost/mcp") {
  return guard.refuses(new Request(url, { headers })) !== undefined;
}

describe("Guard.refuses()", () => {
  const guard = new Guard({});

  it("accepts loopback names with every port", () => {
    for (const host of ["localhost", "LOCALHOST:80", "127.0.0.1:7411", "[::1]", "[::1]:8080"]) {
      assert.equal(refuses(guard, { host }), false, host);
    }
  });

  it("refuses every other name, however similar", () => {
    for (
      const host of [
        "evil.example.com",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "localhost:80@evil.example",
        "localhost:",
        "",
        "[::1",
        "0.0.0.0",
      ]
    ) assert.equal(refuses(guard, { host }), true, host);
  });

  it("uses the URL if there is no Host header", () => {
    assert.equal(refuses(guard, {}, "http://localhost:1/mcp"), false);
    assert.equal(refuses(guard, {}, "http://evil.example/mcp"), true);
  });

  it("refuses loopback names to requests that came through a proxy", () => {
    const forwarded = { "x-forwarded-for": "127.0.0.1" };
    assert.equal(refuses(guard, { host: "localhost", ...forwarded }), true);
    const named = new Guard({ allowHosts: ["tools.example.com"] });
    assert.equal(refuses(named, { host: "tools.example.com", ...forwarded }), false);
    assert.equal(refuses(named, { host: "127.0.0.1", ...forwarded }), true);
  });

  it("refuses pages of other origins", () => {
    const host = "localhost";
    for (const origin of ["http://localhost", "https://127.0.0.1:3000", "http://[::1]:1"]) {
      assert.equal(refuses(guard, { host, origin }), false, origin);
    }
    for (
      const origin of [
        "null",
        "http://evil.example",
        "http://localhost.evil.example",
        "file://localhost",
        "http://localhost/path",
        "http://evil.example://localhost",
        "",
      ]
    ) assert.equal(refuses(guard, { host, origin }), true, origin);
  });

  it("accepts additional names, with or without a port", () => {
    const guard = new Guard({ allowHosts: ["Tools.Example.com", "other.example:81"] });
    assert.equal(refuses(guard, { host: "tools.example.com:8080" }), false);
    assert.equal(refuses(guard, { host: "TOOLS.example.com" }), false);
    assert.equal(refuses(guard, { host: "other.example:81" }), false);
    assert.equal(refuses(guard, { host: "other.example:82" }), true);
    assert.equal(refuses(guard, { host: "sub.tools.example.com" }), true);
  });

  it("accepts additional origins, or all of them", () => {
    const some = new Guard({ allowOrigins: ["https://App.example.com"] });
    assert.equal(refuses(some, { origin: "https://app.example.com" }), false);
    assert.equal(refuses(some, { origin: "http://app.example.com" }), true);
    const all = new Guard({ allowHosts: ["*"], allowOrigins: ["*"] });
    assert.equal(refuses(all, { host: "a.example", origin: "https://b.example" }), false);
  });
});

describe("pathOf()", () => {
  it("returns the path, whatever surrounds it", () => {
    assert.equal(pathOf("http://localhost:1/mcp?x=/y"), "/mcp");
    assert.equal(pathOf("http://localhost"), "/");
    assert.equal(pathOf("http://localhost/"), "/");
  });
});

describe("accepts()", () => {
  it("accepts the type, its family, or everything", () => {
    for (
      const accept of [
        "application/json, text/event-stream",
        "text/event-stream,application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        "text/html, application/json;q=0.5",
        "application/*",
        "*/*",
      ]
    ) assert.equal(accepts(accept, "application/json"), true, accept);
  });

  it("accepts nothing else", () => {
    for (
      const accept of [
        null,
        "",
        "text/event-stream",
        "application/jsonl",
        "application/problem+json",
        "application/json;q=0",
        "application/json; q=0.000",
        "text/*",
      ]
    ) assert.equal(accepts(accept, "application/json"), false, `${accept}`);
  });
});

describe("isType()", () => {
  it("compares the type alone", () => {
    for (
      const type of ["application/json", "Application/JSON", "application/json; charset=utf-8"]
    ) {
      assert.equal(isType(type, "application/json"), true, type);
    }
    for (const type of [null, "", "text/plain", "application/jsonp", "application/json-seq"]) {
      assert.equal(isType(type, "application/json"), false, `${type}`);
    }
  });
});
