import assert from "node:assert/strict";
import fc from "fast-check";
import type { PlacedQuestion } from "../../src/ask/ask.ts";
import { Pending } from "../../src/session/questions.ts";
import { describe, it } from "../suite.ts";

const place = { branch: "", kind: "elicit", key: "k", count: 0 } as const;

function form(key: string): PlacedQuestion {
  return {
    kind: "elicit",
    key,
    place,
    params: { mode: "form", message: "?", requestedSchema: { type: "object", properties: {} } },
  };
}

function named(keys: readonly string[]): string[] {
  const pending = new Pending();
  return keys.map((key) => pending.number("s", form(key)).name);
}

describe("Pending.number()", () => {
  it("names a question by its key, with a number from the second on", () => {
    assert.deepEqual(named(["a", "b", "a", "a", "b"]), ["a", "b", "a_2", "a_3", "b_2"]);
  });

  it("never returns a name twice, even if keys look like numbered names", () => {
    assert.deepEqual(named(["a", "a_2", "a", "a_2", "a"]), ["a", "a_2", "a_3", "a_2_2", "a_4"]);
    assert.deepEqual(named(["a", "a", "a_2"]), ["a", "a_2", "a_2_2"]);
    const keys = fc.array(fc.constantFrom("a", "a_2", "a_2_2", "a_3", "_2", "", "__proto__"));
    fc.assert(
      fc.property(keys, (keys) => {
        const names = named(keys);
        assert.equal(new Set(names).size, names.length, names.join());
        keys.forEach((key, n) => assert.ok(names[n]!.startsWith(key)));
        // The same questions get the same names when the tool runs again.
        assert.deepEqual(named(keys), names);
      }),
      { seed: 1 },
    );
  });

  it("returns an id that is counted within the session", () => {
    const pending = new Pending();
    const url = { mode: "url", message: "?", url: "https://a", elicitationId: "e" } as const;
    const sample = { messages: [], maxTokens: 1 };
    assert.deepEqual(
      [
        pending.number("s", form("a")),
        pending.number("s", { kind: "elicit_url", key: "url", place, params: url }),
        pending.number("s", { kind: "sample", key: "sample", place, params: sample }),
        pending.number("s", { ...form("b"), sensitive: ["x"] } as PlacedQuestion),
      ].map((request) => [request.type, request.id]),
      [
        ["elicit_request", "elicit_s_1"],
        ["elicit_request", "elicit_s_2"],
        ["sample_request", "sample_s_3"],
        ["elicit_request", "elicit_s_4"],
      ],
    );
  });
});

describe("Pending.wasAsked()", () => {
  it("knows the ids that were given, and no others", () => {
    const pending = new Pending();
    const { id } = pending.number("s_1", form("a"));
    assert.equal(id, "elicit_s_1_1");
    assert.equal(pending.wasAsked("s_1", id), true);
    for (
      const other of [
        "elicit_s_1_2",
        "elicit_s_1_0",
        "elicit_s_1_01",
        "elicit_s_1_1 ",
        "elicit_s_1",
        "elicit_s_2_1",
        "elicit__1",
        "elicit_s_1_",
        "elicit_s_1_1e0",
        "elicit_s_1_99999999999999999999999",
        "bogus_s_1_1",
        "1",
        "",
      ]
    ) assert.equal(pending.wasAsked("s_1", other), false, other);
  });
});
