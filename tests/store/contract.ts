/**
 * What every `ToolSessionStore` must do. The test file of a store passes a function that creates an
 * empty store:
 *
 *     storeContract("InMemoryToolSessionStore", () => new InMemoryToolSessionStore());
 */
import assert from "node:assert/strict";
import { all, type Operation } from "effection";
import { StoreConflictError } from "../../src/model/errors.ts";
import type { ToolSessionEvent } from "../../src/model/events.ts";
import type { ToolSessionEntry, ToolSessionStore } from "../../src/store/types.ts";
import { describe, it } from "../suite.ts";

const FIRST = { afterLSN: 0, epoch: 1 };

/** Calls `make` once for each case; it must return an empty store. */
export function storeContract(
  name: string,
  make: () => ToolSessionStore | Operation<ToolSessionStore>,
): void {
  const withStore = (body: (store: ToolSessionStore) => Operation<void>) => (): Operation<void> =>
    (function* () {
      const made = make();
      yield* body(Symbol.iterator in made ? yield* made : made);
    })();

  describe(`${name}.get() and .set()`, () => {
    it(
      "return what was written, field by field",
      withStore(function* (store) {
        const written = { ...entry("a", 3), meta: { principal: "p", nested: { list: [1, null] } } };
        yield* store.set("a", written);
        assert.deepEqual(yield* store.get("a"), written);
      }),
    );

    it(
      "keep sessions apart",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.set("b", entry("b"));
        yield* store.append("a", events(1, 2), FIRST);
        assert.deepEqual(yield* store.read("b"), []);
        assert.equal((yield* store.get("b"))?.id, "b");
      }),
    );

    it(
      "replace an entry and keep its events",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 3), FIRST);
        yield* store.set("a", { ...entry("a"), meta: { seen: true } });
        assert.deepEqual((yield* store.get("a"))?.meta, { seen: true });
        assert.deepEqual(yield* store.read("a"), events(1, 3));
      }),
    );

    it(
      "refuse an outdated epoch",
      withStore(function* (store) {
        yield* store.set("a", entry("a", 2));
        yield* conflicts(() => store.set("a", entry("a", 1)));
        assert.equal((yield* store.get("a"))?.epoch, 2);
      }),
    );
  });

  describe(`${name}.take()`, () => {
    it(
      "raises the epoch, returns the entry, and fences off the former owner",
      withStore(function* (store) {
        const written = { ...entry("a", 3), expiresAt: 99, meta: { principal: "p" } };
        yield* store.set("a", written);
        assert.deepEqual(yield* store.take("a"), { ...written, epoch: 4 });
        assert.deepEqual(yield* store.get("a"), { ...written, epoch: 4 });
        yield* conflicts(() => store.append("a", events(1, 1), { afterLSN: 0, epoch: 3 }));
        yield* store.append("a", events(1, 1), { afterLSN: 0, epoch: 4 });
      }),
    );

    it(
      "gives concurrent callers an epoch each",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        const taken = yield* all(Array.from({ length: 8 }, () => store.take("a")));
        assert.deepEqual(taken.map((one) => one!.epoch).sort(), [2, 3, 4, 5, 6, 7, 8, 9]);
      }),
    );

    it(
      "returns nothing for an unknown id, and creates nothing",
      withStore(function* (store) {
        assert.equal(yield* store.take("nobody"), null);
        assert.equal(yield* store.get("nobody"), null);
      }),
    );
  });

  describe(`${name}.wakes()`, () => {
    const woken = (wakeAt: number | null | undefined) => ({
      ...FIRST,
      ...(wakeAt !== undefined && { wakeAt }),
    });

    it(
      "returns sessions with a wake time, the earliest first, page by page",
      withStore(function* (store) {
        const times = { d: 20, b: 10, c: 20, a: 0, never: null, silent: undefined };
        for (const [id, wakeAt] of Object.entries(times)) {
          yield* store.set(id, entry(id));
          yield* store.append(id, events(1, 1), woken(wakeAt));
        }
        const first = yield* store.wakes(3);
        assert.deepEqual(first, [
          { id: "a", wakeAt: 0 },
          { id: "b", wakeAt: 10 },
          { id: "c", wakeAt: 20 },
        ]);
        assert.deepEqual(yield* store.wakes(3, first[2]), [{ id: "d", wakeAt: 20 }]);
        assert.deepEqual(yield* store.wakes(3, { id: "d", wakeAt: 20 }), []);
      }),
    );

    it(
      "changes with an append that sets it, and with no other",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 1), { ...FIRST, wakeAt: 10 });
        yield* store.append("a", events(2, 2), { afterLSN: 1, epoch: 1 });
        yield* store.set("a", entry("a"));
        assert.deepEqual(yield* store.wakes(9), [{ id: "a", wakeAt: 10 }]);
        yield* conflicts(() =>
          store.append("a", events(9, 9), { afterLSN: 8, epoch: 1, wakeAt: 5 })
        );
        assert.deepEqual(yield* store.wakes(9), [{ id: "a", wakeAt: 10 }]);
        yield* store.append("a", events(3, 3), { afterLSN: 2, epoch: 1, wakeAt: null });
        assert.deepEqual(yield* store.wakes(9), []);
        yield* store.append("a", [], { afterLSN: 3, epoch: 1, wakeAt: 7 });
        assert.deepEqual(yield* store.wakes(9), [{ id: "a", wakeAt: 7 }]);
        yield* store.delete("a");
        assert.deepEqual(yield* store.wakes(9), []);
      }),
    );
  });

  describe(`${name}.sweep()`, () => {
    it(
      "deletes expired sessions with their events, and nothing else",
      withStore(function* (store) {
        const hour = 3_600_000;
        for (
          const [id, expiresAt] of [["old", hour], ["longer", hour], ["new", 9 * hour]] as const
        ) {
          yield* store.set(id, { ...entry(id), expiresAt });
          yield* store.append(id, events(1, 1), FIRST);
        }
        yield* store.append("longer", events(2, 2), { ...FIRST, afterLSN: 1, expiresAt: 9 * hour });
        yield* store.set("kept", entry("kept"));
        assert.equal(yield* store.sweep(hour - 1), 0);
        assert.equal(yield* store.sweep(2 * hour), 1);
        assert.equal(yield* store.sweep(2 * hour), 0);
        assert.equal(yield* store.get("old"), null);
        assert.deepEqual(yield* store.read("old"), []);
        assert.equal((yield* store.get("longer"))?.expiresAt, 9 * hour);
        for (const id of ["new", "kept"]) assert.notEqual(yield* store.get(id), null, id);
      }),
    );
  });

  describe(`${name}, for an unknown id`, () => {
    it(
      "gets null, reads nothing, deletes nothing, and appends nothing",
      withStore(function* (store) {
        assert.equal(yield* store.get("nobody"), null);
        assert.deepEqual(yield* store.read("nobody"), []);
        yield* store.delete("nobody");
        yield* conflicts(() => store.append("nobody", events(1, 1), FIRST));
        assert.equal(yield* store.get("nobody"), null);
        assert.deepEqual(yield* store.read("nobody"), []);
      }),
    );

    it(
      "accepts any string as an id",
      withStore(function* (store) {
        for (const id of ["__proto__", "constructor", "", "a/b", "'; drop", "ä 🌱"]) {
          assert.equal(yield* store.get(id), null, JSON.stringify(id));
          yield* store.set(id, entry(id));
          yield* store.append(id, events(1, 1), FIRST);
          assert.equal((yield* store.get(id))?.id, id);
          assert.equal((yield* store.read(id)).length, 1);
        }
      }),
    );
  });

  describe(`${name}.delete()`, () => {
    it(
      "removes the entry with its events, so that the id can be used again",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 2), FIRST);
        yield* store.delete("a");
        assert.equal(yield* store.get("a"), null);
        assert.deepEqual(yield* store.read("a"), []);
        yield* conflicts(() => store.append("a", events(3, 3), { afterLSN: 2, epoch: 1 }));
        yield* store.set("a", entry("a"));
        assert.deepEqual(yield* store.read("a"), []);
        yield* store.append("a", events(1, 1), FIRST);
      }),
    );
  });

  describe(`${name}.append()`, () => {
    it(
      "accepts batch after batch, in order",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 1), FIRST);
        yield* store.append("a", events(2, 4), { afterLSN: 1, epoch: 1 });
        yield* store.append("a", events(5, 5), { afterLSN: 4, epoch: 1 });
        assert.deepEqual(yield* store.read("a"), events(1, 5));
      }),
    );

    it(
      "refuses what does not follow the last event, and writes nothing",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* conflicts(() => store.append("a", events(2, 2), { afterLSN: 1, epoch: 1 }));
        yield* store.append("a", events(1, 2), FIRST);
        for (const afterLSN of [0, 1, 3, 99, -1]) {
          yield* conflicts(() =>
            store.append("a", events(afterLSN + 1, afterLSN + 1), { afterLSN, epoch: 1 })
          );
        }
        assert.deepEqual(yield* store.read("a"), events(1, 2));
      }),
    );

    it(
      "refuses a whole batch with a gap, a repetition or a wrong start",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        for (const lsns of [[1, 3], [1, 1], [2], [1, 2, 4], [2, 1], [0, 1]]) {
          yield* conflicts(() => store.append("a", lsns.map(event), FIRST));
          assert.deepEqual(yield* store.read("a"), [], `${lsns}`);
        }
      }),
    );

    it(
      "refuses another epoch, older or newer, and writes nothing",
      withStore(function* (store) {
        yield* store.set("a", entry("a", 5));
        for (const epoch of [1, 4, 6]) {
          yield* conflicts(() => store.append("a", events(1, 1), { afterLSN: 0, epoch }));
        }
        assert.deepEqual(yield* store.read("a"), []);
        yield* store.append("a", events(1, 1), { afterLSN: 0, epoch: 5 });
      }),
    );

    it(
      "refuses the former owner once another has taken over",
      withStore(function* (store) {
        yield* store.set("a", entry("a", 1));
        yield* store.append("a", events(1, 2), FIRST);
        yield* store.set("a", entry("a", 2));
        yield* conflicts(() => store.append("a", events(3, 3), { afterLSN: 2, epoch: 1 }));
        yield* store.append("a", events(3, 3), { afterLSN: 2, epoch: 2 });
        yield* conflicts(() => store.append("a", events(4, 4), { afterLSN: 3, epoch: 1 }));
        assert.deepEqual(yield* store.read("a"), events(1, 3));
      }),
    );

    it(
      "creates a session with its first events, and replaces an existing entry",
      withStore(function* (store) {
        const first = { ...entry("a"), expiresAt: 9 };
        yield* store.append("a", events(1, 2), { ...FIRST, entry: first, wakeAt: 5 });
        assert.deepEqual(yield* store.get("a"), first);
        assert.deepEqual(yield* store.read("a"), events(1, 2));
        assert.deepEqual(yield* store.wakes(9), [{ id: "a", wakeAt: 5 }]);
        const second = { ...entry("a"), meta: { seen: true } };
        yield* store.append("a", events(3, 3), {
          afterLSN: 2,
          epoch: 1,
          entry: second,
          expiresAt: 10,
        });
        assert.deepEqual(yield* store.get("a"), { ...second, expiresAt: 10 });
        yield* conflicts(() =>
          store.append("a", events(1, 1), { ...FIRST, entry: entry("a"), expiresAt: 1 })
        );
        yield* conflicts(() =>
          store.append("b", events(3, 3), { afterLSN: 2, epoch: 1, entry: entry("b") })
        );
        assert.deepEqual(yield* store.get("a"), { ...second, expiresAt: 10 });
        assert.equal(yield* store.get("b"), null);
        yield* store.append("a", [], { afterLSN: 3, epoch: 1, entry: second });
        assert.deepEqual(yield* store.get("a"), second, "it still expires");
      }),
    );

    it(
      "lets exactly one of several concurrent appends after the same event win",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        const outcomes = yield* all(
          Array.from(
            { length: 8 },
            (_, n) => attempt(() => store.append("a", [said(1, n)], FIRST)),
          ),
        );
        const winners = outcomes.flatMap((won, n) => won ? [n] : []);
        assert.equal(winners.length, 1);
        assert.deepEqual(yield* store.read("a"), [said(1, winners[0]!)]);
      }),
    );

    it(
      "checks the condition of an empty batch, and writes nothing",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", [], FIRST);
        yield* conflicts(() => store.append("a", [], { afterLSN: 1, epoch: 1 }));
        assert.deepEqual(yield* store.read("a"), []);
      }),
    );

    it(
      "accepts a batch that would not fit on the stack",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 200_000), FIRST);
        assert.equal((yield* store.read("a", 199_990)).length, 10);
      }),
    );

    it(
      "keeps its own copy of the given list",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        const batch = events(1, 2);
        yield* store.append("a", batch, FIRST);
        batch.push(event(99));
        const read = (yield* store.read("a")) as ToolSessionEvent[];
        assert.deepEqual(read, events(1, 2));
        read.length = 0;
        assert.deepEqual(yield* store.read("a"), events(1, 2));
      }),
    );
  });

  describe(`${name}.list()`, () => {
    it(
      "returns every session once, with its entry and its last event, also in parts",
      withStore(function* (store) {
        for (const id of ["b", "a", "c"]) yield* store.set(id, entry(id));
        yield* store.append("a", events(1, 3), FIRST);
        yield* store.take("c");
        const found = new Map<string, unknown>();
        let after: number | undefined;
        for (;;) {
          const page = yield* store.list!(2, after);
          if (page.length === 0) break;
          for (const { entry: { id, epoch }, last } of page) {
            assert.ok(!found.has(id), `${id} is listed once`);
            found.set(id, [epoch, last?.lsn]);
          }
          after = page.at(-1)!.position;
        }
        assert.deepEqual([...found].sort(), [
          ["a", [1, 3]],
          ["b", [1, undefined]],
          ["c", [2, undefined]],
        ]);
      }),
    );

    it(
      "returns none from an empty store",
      withStore(function* (store) {
        assert.deepEqual(yield* store.list!(10), []);
      }),
    );
  });

  describe(`${name}.read()`, () => {
    it(
      "returns a window of the log",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 5), FIRST);
        assert.deepEqual((yield* store.read("a", 1, 2)).slice(0, 2), events(2, 3));
        assert.deepEqual(yield* store.read("a", 3, 10), events(4, 5));
        assert.deepEqual(yield* store.read("a", 5, 10), []);
      }),
    );

    it(
      "returns the events after an LSN, in order",
      withStore(function* (store) {
        yield* store.set("a", entry("a"));
        yield* store.append("a", events(1, 12), FIRST);
        assert.deepEqual(yield* store.read("a"), events(1, 12));
        assert.deepEqual(yield* store.read("a", 0), events(1, 12));
        assert.deepEqual(yield* store.read("a", 9), events(10, 12));
        assert.deepEqual(yield* store.read("a", 12), []);
        assert.deepEqual(yield* store.read("a", 99), []);
      }),
    );

    it(
      "returns events unchanged, whatever text they hold",
      withStore(function* (store) {
        const body = {
          lsn: 1,
          type: "answer",
          requestId: "elicit_a_1",
          response: { action: "accept", content: { n: 0.1, s: '\u0000 ä 🌱 " \\ \n', b: false } },
          sealed: "c2VhbGVk",
        } as const satisfies ToolSessionEvent;
        yield* store.set("a", entry("a"));
        yield* store.append("a", [body], FIRST);
        assert.deepEqual(yield* store.read("a"), [body]);
      }),
    );
  });
}

function entry(id: string, epoch = 1): ToolSessionEntry {
  return { id, toolName: "t", params: { city: "Bern" }, createdAt: 1_767_484_800_000, epoch };
}

function event(lsn: number): ToolSessionEvent {
  return { lsn, type: "progress", progress: lsn, message: `step ${lsn}` };
}

function said(lsn: number, data: unknown): ToolSessionEvent {
  return { lsn, type: "log", level: "info", data };
}

function events(from: number, to: number): ToolSessionEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => event(from + index));
}

function* attempt(body: () => Operation<void>): Operation<boolean> {
  try {
    yield* body();
    return true;
  } catch (error) {
    assert.ok(error instanceof StoreConflictError, String(error));
    return false;
  }
}

function* conflicts(body: () => Operation<void>): Operation<void> {
  assert.equal(yield* attempt(body), false, "it was not refused");
}
