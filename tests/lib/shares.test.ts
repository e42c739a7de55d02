import assert from "node:assert/strict";
import { Owned, Shares } from "../../src/lib/shares.ts";
import { describe, it } from "../suite.ts";

describe("Shares", () => {
  it("reached() distinguishes a named principal's share from the limit for all", () => {
    const shares = new Shares({ max: 4, maxPerPrincipal: 2 });
    shares.take("ann", 2);
    assert.equal(shares.reached("ann"), "share");
    assert.equal(shares.reached("bob"), undefined);
    assert.equal(shares.reached("bob", 3), "share");
    shares.take("bob", 2);
    assert.equal(shares.reached("cid"), "total");
    shares.give("ann");
    assert.equal(shares.reached("cid"), undefined);
    assert.deepEqual([shares.total, shares.of("ann"), shares.of("cid")], [3, 1, 0]);
  });

  it("reached() gives the anonymous principal no share limit", () => {
    const shares = new Shares({ max: 4, maxPerPrincipal: 1 });
    shares.take("", 4);
    assert.equal(shares.reached(""), "total");
    assert.deepEqual([shares.limitOf(""), shares.limitOf("ann")], [4, 1]);
  });

  it("refuses() leaves room for newcomers when many principals take all they can", () => {
    const names = Array.from({ length: 30 }, (_, index) => `mallory ${index}`);
    const atOnce = new Shares({ max: 10_000, maxPerPrincipal: 1_000 });
    for (let i = 0; i < 1_000; i++) {
      for (const name of names.slice(0, 10)) if (!atOnce.refuses(name)) atOnce.take(name);
    }
    assert.ok(atOnce.total <= 8_000 && atOnce.total > 7_000, `${atOnce.total}`);

    const inTurn = new Shares({ max: 10_000, maxPerPrincipal: 1_000 });
    const free: number[] = [];
    for (const name of names) {
      assert.equal(inTurn.refuses(name), undefined, name);
      while (!inTurn.refuses(name)) inTurn.take(name);
      free.push(10_000 - inTurn.total);
    }
    assert.deepEqual(free.slice(0, 6), [9_000, 8_000, 7_000, 6_000, 5_000, 4_000]);
    assert.ok(free[9]! > 1_000 && free.at(-1)! > 0, `${free}`);
    assert.equal(inTurn.refuses("ann"), undefined);
  });

  it("refuses() tells which limit is reached", () => {
    const shares = new Shares({ max: 10, maxPerPrincipal: 5 });
    shares.take("ann", 5);
    assert.deepEqual([shares.refuses("ann"), shares.refuses("bob")], ["share", undefined]);
    shares.take("bob", 4);
    assert.deepEqual([shares.refuses("ann"), shares.refuses("bob")], ["share", "crowded"]);
    assert.deepEqual([shares.refuses("cid"), shares.refuses("")], [undefined, undefined]);
    shares.take("cid");
    assert.deepEqual([shares.refuses("dan"), shares.refuses("")], ["total", "total"]);
    const whole = new Shares({ max: 10, maxPerPrincipal: 10 });
    whole.take("ann", 9);
    assert.equal(whole.refuses("ann"), undefined, "a share of everything is exempt");
  });

  it("give() never returns more than is held", () => {
    const shares = new Shares({ max: 4, maxPerPrincipal: 4 });
    shares.take("ann", 2);
    shares.give("ann", 5);
    shares.give("bob");
    assert.deepEqual([shares.total, shares.of("ann"), shares.largest], [0, 0, undefined]);
  });

  it("largest is updated by take() and give()", () => {
    const shares = new Shares({ max: Infinity, maxPerPrincipal: Infinity });
    assert.equal(shares.largest, undefined);
    for (const [who, amount] of [["ann", 5], ["bob", 7], ["cid", 4]] as const) {
      shares.take(who, amount);
    }
    assert.equal(shares.largest, "bob");
    shares.give("bob", 6);
    assert.equal(shares.largest, "ann");
    shares.take("cid", 2 ** 33);
    assert.equal(shares.largest, "cid");
    shares.replace([["bob", 3], ["ann", 1]]);
    assert.deepEqual([shares.largest, shares.total], ["bob", 4]);
  });

  it("largest may be the anonymous principal", () => {
    const shares = new Shares({ max: 100, maxPerPrincipal: 10 });
    shares.take("", 3);
    assert.equal(shares.largest, "");
    shares.take("ann", 5);
    assert.deepEqual([shares.largest, shares.total, shares.of("")], ["ann", 8, 3]);
    shares.take("", 40);
    assert.deepEqual([shares.largest, shares.exceeded(""), shares.of("")], ["", undefined, 43]);
    shares.give("", 50);
    assert.deepEqual([shares.largest, shares.total, shares.of("")], ["ann", 5, 0]);
    shares.take("", 1);
    shares.replace([["", 7], ["ann", 2]]);
    assert.deepEqual([shares.largest, shares.total], ["", 9]);
    shares.replace([]);
    assert.deepEqual([shares.largest, shares.total], [undefined, 0]);
  });

  it("largest compares amounts around powers of two exactly", () => {
    for (const power of [1, 2, 10, 30, 31, 32, 33, 52]) {
      const shares = new Shares({ max: Infinity, maxPerPrincipal: Infinity });
      shares.take("ann", 2 ** power - 0.5);
      shares.take("bob", 2 ** power);
      assert.equal(shares.largest, "bob", `2^${power}`);
      shares.take("ann", 1);
      assert.equal(shares.largest, "ann", `2^${power}`);
    }
  });

  it("largest holds at least half of what any other holds, however many there are", () => {
    const shares = new Shares({ max: Infinity, maxPerPrincipal: Infinity });
    const amounts = new Map<string, number>();
    let seed = 7;
    for (let i = 0; i < 5_000; i++) {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      const [who, change] = [`p${seed % 400}`, seed % 97 - 40];
      shares.take(who, change);
      amounts.set(who, Math.max(0, (amounts.get(who) ?? 0) + change));
      if (i % 50 > 0) continue;
      const most = Math.max(...amounts.values());
      assert.ok(shares.of(shares.largest ?? "") * 2 > most || most === 0);
    }
    const total = [...amounts.values()].reduce((sum, amount) => sum + amount, 0);
    assert.equal(shares.total, total);
  });
});

describe("Owned", () => {
  it("keeps each principal's entries in order", () => {
    const owned = new Owned<number>();
    for (const [who, thing] of [["a", 1], ["b", 2], ["a", 3], ["a", 4]] as const) {
      owned.add(who, thing);
    }
    assert.equal(owned.delete("a", 3), true);
    assert.equal(owned.delete("b", 1), false);
    assert.deepEqual([[...owned.of("a")], [...owned.of("b")], [...owned.of("c")]], [
      [1, 4],
      [2],
      [],
    ]);
  });
});
