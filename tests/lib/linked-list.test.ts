import assert from "node:assert/strict";
import fc from "fast-check";
import { type Linked, LinkedList } from "../../src/lib/linked-list.ts";
import { describe, it } from "../suite.ts";

class One implements Linked<One> {
  list: LinkedList<One> | undefined;
  prev: One | undefined;
  next: One | undefined;
  constructor(readonly number: number) {}
}

function numbersIn(line: LinkedList<One>): number[] {
  const numbers: number[] = [];
  for (let one = line.first; one; one = one.next) numbers.push(one.number);
  return numbers;
}

describe("LinkedList", () => {
  it("keeps the order of insertion when entries are removed in between", () => {
    const change = fc.record({ number: fc.nat(9), leaves: fc.boolean() });
    fc.assert(fc.property(fc.array(change), (changes) => {
      const all = Array.from({ length: 10 }, (_, number) => new One(number));
      const line = new LinkedList<One>();
      let expected: number[] = [];
      for (const { number, leaves } of changes) {
        const stands = expected.includes(number);
        assert.equal(all[number]!.list, stands ? line : undefined);
        if (leaves || stands) {
          assert.equal(line.remove(all[number]!), stands);
          expected = expected.filter((other) => other !== number);
        } else {
          line.add(all[number]!);
          expected.push(number);
        }
        assert.deepEqual(numbersIn(line), expected);
      }
    }));
  });

  it("ignores an entry of another list, and releases entries that are removed", () => {
    const [here, there] = [new LinkedList<One>(), new LinkedList<One>()];
    const [first, second] = [new One(1), new One(2)];
    here.add(first);
    here.add(second);
    assert.equal(there.remove(first), false);
    assert.equal(here.remove(first), true);
    assert.deepEqual([first.list, first.prev, first.next], [undefined, undefined, undefined]);
    assert.equal(second.prev, undefined);
  });
});
