import assert from "node:assert/strict";
import { FinishedSessions } from "../../src/registry/retention.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { describe, it } from "../suite.ts";

const NOW = 1_000;

/** The part of a session that matters here, and how often it was examined. */
class Fake {
  list: undefined;
  ahead: undefined;
  behind: undefined;
  looks = 0;
  readonly log: { bytes: number };
  readonly durable = false;
  constructor(
    readonly id: string,
    public keepUntil = 0,
    public held = false,
    bytes = 1,
    readonly principal = "",
  ) {
    this.log = { bytes };
  }
  get holders(): number {
    this.looks++;
    return this.held ? 1 : 0;
  }
}

/** Adds a session as the registry does, and returns the ids of the evicted ones. */
function add(finished: FinishedSessions, fake: Fake): string[] {
  const going = finished.add(fake as unknown as LiveToolSession, NOW);
  for (const session of going) {
    assert.equal(finished.sessions.has(session.id), false);
    assert.equal(finished.delete(session), false, "it was deleted, and counted, once");
  }
  return going.map(({ id }) => id);
}

describe("FinishedSessions.add()", () => {
  it("evicts the oldest first, and those that are promised to a client last", () => {
    const finished = new FinishedSessions({ max: 2, maxBytes: 1_000 });
    assert.deepEqual(add(finished, new Fake("a", NOW + 1)), []);
    assert.deepEqual(add(finished, new Fake("b")), []);
    assert.deepEqual(add(finished, new Fake("c", NOW + 1)), ["b"]);
    assert.deepEqual(add(finished, new Fake("d", NOW + 1)), ["a"]);
    assert.equal(finished.size, 2);
  });

  it("keeps a session that is promised to a client only after its end", () => {
    const finished = new FinishedSessions({ max: 2, maxBytes: 1_000 });
    const late = new Fake("late");
    add(finished, late);
    late.keepUntil = NOW + 1;
    add(finished, new Fake("b"));
    assert.deepEqual(add(finished, new Fake("c")), ["b"]);
  });

  it("evicts from the largest holder, not older ones of a third party", () => {
    const finished = new FinishedSessions({ max: 5, maxBytes: 1_000 });
    const of = (principal: string, id: string, keepUntil = 0, held = false) =>
      new Fake(id, keepUntil, held, 1, principal);
    add(finished, of("ann", "third party"));
    add(finished, of("mallory", "held", 0, true));
    add(finished, of("mallory", "promised", NOW + 1));
    add(finished, of("mallory", "free"));
    add(finished, of("mallory", "newer"));
    assert.deepEqual(add(finished, of("bob", "newcomer")), ["free"]);
    assert.deepEqual(add(finished, of("cid", "another")), ["newer"]);
    assert.deepEqual(add(finished, of("ann", "a second one")), ["promised"]);
    assert.deepEqual(add(finished, of("ann", "a third one")), ["third party"]);
    assert.equal(finished.size, 5);
  });

  it("evicts from the heaviest holder if there are too many bytes", () => {
    const finished = new FinishedSessions({ max: 10, maxBytes: 10 });
    add(finished, new Fake("third party", 0, false, 2, "ann"));
    add(finished, new Fake("heavy", 0, false, 4, "mallory"));
    add(finished, new Fake("heavier", 0, false, 4, "mallory"));
    assert.deepEqual(add(finished, new Fake("newcomer", 0, false, 3, "bob")), ["heavy"]);
    assert.deepEqual(add(finished, new Fake("huge", 0, false, 20, "cid")), ["huge"]);
    assert.equal(finished.size, 3);
  });

  it("never evicts a session that somebody reads, also by bytes", () => {
    const finished = new FinishedSessions({ max: 10, maxBytes: 10 });
    add(finished, new Fake("held", 0, true, 4));
    add(finished, new Fake("b", 0, false, 3));
    add(finished, new Fake("c", 0, false, 3));
    assert.deepEqual(add(finished, new Fake("d", 0, false, 6)), ["b", "c"]);
    assert.deepEqual(finished.sessions.get("held")?.id, "held");
  });

  it("examines only a few of them, however many there are", () => {
    const max = 5_000;
    for (const held of [false, true]) {
      const finished = new FinishedSessions({ max, maxBytes: Infinity });
      const fakes = Array.from({ length: max }, (_, n) => new Fake(`s${n}`, NOW + 1, held));
      for (const fake of fakes) add(finished, fake);
      add(finished, new Fake("one more", NOW + 1));
      assert.ok(fakes.reduce((sum, { looks }) => sum + looks, 0) <= 20);
    }
  });
});
