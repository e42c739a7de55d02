import assert from "node:assert/strict";
import { nearest } from "../../src/lib/nearest.ts";
import { describe, it } from "../suite.ts";

const NAMES = ["port", "host", "publicUrl", "allowHosts", "allowOrigins", "maxMemory", "maxStore"];

describe("nearest()", () => {
  const cases: readonly [word: string, meant: string | undefined][] = [
    ["prot", "port"],
    ["Port", "port"],
    ["ports", "port"],
    ["public_url", "publicUrl"],
    ["allowHost", "allowHosts"],
    ["allowOrigin", "allowOrigins"],
    ["maxMermory", "maxMemory"],
    ["pt", undefined],
    ["timeout", undefined],
    ["", undefined],
    ["x".repeat(1_000), undefined],
  ];
  for (const [word, meant] of cases) {
    it(`finds ${meant} for "${word.slice(0, 20)}"`, () => {
      assert.equal(nearest(word, NAMES), meant);
    });
  }
});
