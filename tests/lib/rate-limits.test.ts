import assert from "node:assert/strict";
import { RateLimits } from "../../src/lib/rate-limits.ts";
import { describe, it } from "../suite.ts";

describe("RateLimits", () => {
  it("allows a minute's requests at once, and then as many as were allowed again", () => {
    const limits = new RateLimits(60);
    for (let i = 0; i < 60; i++) assert.equal(limits.take("alice", 0), 0);
    assert.equal(limits.take("alice", 0), 1_000);
    assert.equal(limits.take("bob", 0), 0, "each name has its own limit");
    assert.equal(limits.take("alice", 999), 1);
    assert.equal(limits.take("alice", 1_000), 0);
    assert.equal(limits.take("alice", 1_000), 1_000);
    assert.equal(limits.take("alice", 60_000_000), 0);
  });

  it("does not count refused requests", () => {
    const limits = new RateLimits(1);
    assert.equal(limits.take("alice", 0), 0);
    for (let i = 0; i < 100; i++) assert.equal(limits.take("alice", 0), 60_000);
    assert.equal(limits.take("alice", 60_000), 0);
  });

  it("remembers a limited number of names", () => {
    const limits = new RateLimits(1);
    for (let i = 0; i < 20_000; i++) assert.equal(limits.take(`caller ${i}`, 0), 0);
    assert.equal(limits.take("caller 19999", 0), 60_000);
  });
});
