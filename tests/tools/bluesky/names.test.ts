import assert from "node:assert/strict";
import fc from "fast-check";
import { toActor, toService } from "../../../tools/bluesky/names.ts";
import { describe, it } from "../../suite.ts";

describe("toActor()", () => {
  it("accepts a handle or DID however it is written", () => {
    const meant: [string, string][] = [
      ["alice.test", "alice.test"],
      ["@Alice.Bsky.Social", "alice.bsky.social"],
      ["  @alice.test \n", "alice.test"],
      ["\u202aalice.test\u202c", "alice.test"],
      ["https://bsky.app/profile/alice.test", "alice.test"],
      ["https://bsky.app/profile/did:plc:abc123/post/xyz", "did:plc:abc123"],
      ["did:plc:ewvi7nxzyoun6zhxrhs64oiz", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"],
      ["did:web:example.com", "did:web:example.com"],
      ["xn--ls8h.test", "xn--ls8h.test"],
    ];
    for (const [text, actor] of meant) assert.equal(toActor(text), actor, text);
  });

  it("refuses everything else in one line", () => {
    for (
      const text of [
        "alice",
        "a..b",
        "-a.test",
        "a-.test",
        "a.123",
        "@",
        "did:",
        "did:plc:",
        "a_b.test",
      ]
    ) {
      assert.throws(() => toActor(text), /^ToolError: Cannot use ".*" as an account: /, text);
    }
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      try {
        assert.match(toActor(text), /^(?:did:[a-z]+:[\w.:%-]+|[a-z0-9-]+(?:\.[a-z0-9-]+)+)$/);
      } catch (error) {
        const { name, message } = error as Error;
        assert.equal(name, "ToolError");
        assert.ok(!/[\n\r]/.test(message) && message.length < 300, message);
      }
    }));
  });
});

describe("toService()", () => {
  it("accepts public addresses, and this machine if it is the person's own", () => {
    assert.equal(toService("bsky.social", false), "https://bsky.social");
    assert.equal(toService("https://pds.example/path?x", false), "https://pds.example");
    assert.equal(toService("http://localhost:2583", true), "http://localhost:2583");
    assert.equal(toService("http://[::1]:2583", true), "http://[::1]:2583");
  });

  it("refuses what is not encrypted, not public, or not an address", () => {
    const wrong: [string, boolean][] = [
      ["http://pds.example", true],
      ["http://localhost:1", false],
      ["https://127.0.0.1", false],
      ["https://169.254.169.254", true],
      ["https://[fe80::1]", true],
      ["https://2130706433", false],
      ["https://intranet", true],
      ["https://intranet.", true],
      ["https://localhost.", true],
      ["https://localhost.", false],
      ["https://foo.localhost", false],
      ["https://foo.localhost.", true],
      ["https://[::ffff:127.0.0.1]", true],
      ["https://nas.local", true],
      ["https://user:secret@pds.example", true],
      ["ftp://pds.example", true],
      ["not an address", true],
      ["", true],
    ];
    for (const [text, local] of wrong) {
      assert.throws(
        () => toService(text, local),
        /^ToolError: Cannot use ".*" as a service: /,
        text,
      );
    }
  });
});
