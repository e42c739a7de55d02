import assert from "node:assert/strict";
import { TokenBudget } from "../../src/ask/budget.ts";
import { McpToolTokenError } from "../../src/model/errors.ts";
import { describe, it } from "../suite.ts";

describe("TokenBudget", () => {
  it("reserves what it grants, so that no other sample is granted it", () => {
    const budget = new TokenBudget(100);
    assert.deepEqual([budget.grant(70), budget.grant(70)], [70, 30]);
    assert.throws(() => budget.grant(1), McpToolTokenError);
    budget.settle(70, 10);
    assert.equal(budget.left, 60);
    budget.settle(30, 30);
    assert.deepEqual([budget.used, budget.left], [40, 60]);
  });

  it("reserves it in every budget above it too", () => {
    const parent = new TokenBudget(100);
    const [one, two] = [new TokenBudget(80, parent), new TokenBudget(80, parent)];
    assert.deepEqual([one.grant(80), two.grant(80)], [80, 20]);
    assert.throws(() => parent.grant(1), McpToolTokenError);
    one.settle(80, 0);
    assert.equal(parent.left, 80);
  });

  it("counts a grant that was made without a limit", () => {
    const budget = new TokenBudget();
    budget.settle(budget.grant(Infinity), 5);
    assert.deepEqual([budget.used, budget.left], [5, Infinity]);
  });
});
