import assert from "node:assert/strict";
import { createMcpResource, createParley } from "parley-mcp";
import { type UriPattern, uriPattern } from "../../src/tool/uri-pattern.ts";
import { describe, it } from "../suite.ts";

function pattern(text: string): UriPattern {
  const parsed = uriPattern(text);
  assert.ok("match" in parsed, JSON.stringify(parsed));
  return parsed;
}

/** Templates, URIs, and the values that they have. The URIs are expansions of RFC 6570. */
const cases: readonly (readonly [string, string, object | undefined])[] = [
  ["a://x", "a://x", {}],
  ["a://x", "a://y", undefined],
  // Level 1
  ["a://{x}", "a://1", { x: "1" }],
  ["a://{x}", "a://1,2", { x: "1,2" }],
  ["a://{x}", "a://a%20b%2Fc", { x: "a b/c" }],
  ["a://{x}", "a://1/2", undefined],
  ["a://{x}", "a://", undefined],
  ["a://{x}/b/{y}.txt", "a://1/b/2.txt", { x: "1", y: "2" }],
  // Level 2
  ["a://{+path}", "a://one/two?three", { path: "one/two?three" }],
  ["a://x{#part}", "a://x#one/two", { part: "one/two" }],
  ["a://x{#part}", "a://x#", { part: "" }],
  // Level 3
  ["a://{x,y}", "a://1,2", { x: "1", y: "2" }],
  ["a://{x,y}", "a://1", undefined],
  ["a://{+x,y}/z", "a://1/2,3/z", { x: "1/2", y: "3" }],
  ["a://f{.ext}", "a://f.txt", { ext: "txt" }],
  ["a://f{.x,y}", "a://f.tar.gz", { x: "tar", y: "gz" }],
  ["a://x{/a,b}", "a://x/1/2", { a: "1", b: "2" }],
  ["a://x{/a,b}", "a://x/1", undefined],
  ["a://x{;p,q}", "a://x;p=1;q", { p: "1", q: "" }],
  ["a://x{?q,page}", "a://x?q=cake&page=2", { q: "cake", page: "2" }],
  ["a://x{?q,page}", "a://x?page=2&q=a%26b", { q: "a&b", page: "2" }],
  ["a://x{?q,page}", "a://x", { q: "", page: "" }],
  ["a://x{?q,page}", "a://x?q=a=b", { q: "a=b", page: "" }],
  ["a://x{?q}", "a://x?other=1", undefined],
  ["a://x?fixed=1{&y}", "a://x?fixed=1&y=2", { y: "2" }],
  ["a://x?fixed=1{&y}", "a://x?fixed=1", { y: "" }],
  ["a://x{?q}{#part}", "a://x?q=1#here", { q: "1", part: "here" }],
  // The one form of level 4 that keeps the value
  ["a://x{/path*}", "a://x/one/two", { path: "one/two" }],
  // Bad encoding stays as it is.
  ["a://{x}", "a://%zz", { x: "%zz" }],
];

describe("uriPattern()", () => {
  it("finds the values of variables in URIs that clients expanded", () => {
    for (const [template, uri, values] of cases) {
      assert.deepEqual(pattern(template).match(uri), values, `${template} ${uri}`);
    }
    assert.deepEqual(pattern("a://{x}{/y,z}{?q}").variables, ["x", "y", "z", "q"]);
  });

  it("refuses templates that cannot be matched", () => {
    for (
      const template of ["x", "a://{x", "a://x}", "a://{}", "a://{x:3}", "a://{x*}", "a://{?x*}"]
    ) {
      assert.ok("problem" in uriPattern(template), template);
    }
    assert.deepEqual(uriPattern("a://{+x}/{+y}/{+z}"), {
      problem: "more than 2 variables match slashes; use {name} for the others",
    });
    assert.deepEqual(uriPattern("a://{x}{?x}"), { problem: '"x" is used twice' });
    assert.throws(
      () =>
        createMcpResource("n").uri("a://{x:3}").read(function* () {
          return "";
        }),
      /its address does not work: "\{x:3\}" is not supported; use forms such as/,
    );
  });

  it("gives typed variables to the function that reads", async () => {
    const resource = createMcpResource("notes").uri("notes://{folder}{/path*}{?page,size}")
      .read(function* ({ folder, path, page, size }) {
        const all: readonly string[] = [folder, path, page, size];
        return all.join("|");
      });
    const parley = createParley({ serve: [resource] });
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "resources/read",
      params: { uri: "notes://a/b/c?size=5" },
    };
    const response = await parley.fetch(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(body),
      }),
    );
    assert.equal((await response.json()).result.contents[0].text, "a|b/c||5");
    await parley.close();
  });
});
