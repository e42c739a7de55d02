import assert from "node:assert/strict";
import { copyFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { all, type Operation } from "effection";
import { StoreError } from "../../../src/model/errors.ts";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import { copyStore, entry, event, events, failure, tryOpen } from "./kit.ts";

const PAGE = 4096;
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const FRAME = FRAME_HEADER + PAGE;

/** Every transaction appends to all of these, a different number of events to each. */
const IDS = ["a", "b", "c"];
/** This many are in the file itself; as many more are in its log only. */
const CLOSED = 20;
const LOGGED = 20;

const batch = (id: string, n: number) => IDS.indexOf(id) * 2 + n % 3 + 1;
const lastAfter = (id: string, n: number): number =>
  n === 0 ? 0 : lastAfter(id, n - 1) + batch(id, n);
const text = (lsn: number) => `event ${lsn} `.repeat(20 + lsn % 40);
const logOf = (id: string, n: number) =>
  events(1, lastAfter(id, n)).map(({ lsn }) => event(lsn, text(lsn)));

interface Torn {
  readonly path: string;
  /** The length of the log after each acknowledged transaction. */
  readonly ends: readonly number[];
}

/** A store as a crash leaves it. */
function* crashed(folder: string): Operation<Torn> {
  const [source, path] = [join(folder, "source.db"), join(folder, "crashed.db")];
  let stores = openSqlite(source);
  yield* all(IDS.map((id) => stores.sessions.set(id, entry(id))));
  const ends: number[] = [];
  for (let n = 1; n <= CLOSED + LOGGED; n++) {
    yield* all(IDS.map((id) => {
      const afterLSN = lastAfter(id, n - 1);
      return stores.sessions.append(id, logOf(id, n).slice(afterLSN), { afterLSN, epoch: 1 });
    }));
    if (n === CLOSED) {
      stores.close();
      stores = openSqlite(source);
    }
    if (n > CLOSED) ends.push(statSync(`${source}-wal`).size);
  }
  copyStore(source, path);
  stores.close();
  assert.equal(ends.at(-1), statSync(`${path}-wal`).size, "the log was not only appended to");
  return { path, ends };
}

/** Opens a copy that `tear` has changed, and returns which transactions are there, or the error. */
function* after(
  { path }: Torn,
  tear: (copy: string) => void,
): Operation<number | StoreError> {
  const copy = path.replace("crashed", "copy");
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  tear(copy);
  const stores = tryOpen(copy);
  if (stores instanceof StoreError) return stores;
  try {
    const counts: number[] = [];
    for (const id of IDS) {
      let log;
      const error = yield* failure(function* () {
        log = yield* stores.sessions.read(id);
      });
      if (error instanceof StoreError) return error;
      if (error) throw error;
      const n = Array.from({ length: CLOSED + LOGGED + 1 }, (_, n) => n)
        .find((n) => lastAfter(id, n) === log!.length);
      assert.notEqual(n, undefined, `${log!.length} events of ${id} are part of a batch`);
      assert.deepEqual(log, logOf(id, n!));
      counts.push(n!);
    }
    assert.deepEqual(new Set(counts).size, 1, `a transaction is there in part: ${counts}`);
    // It must be possible to continue with what is there.
    const afterLSN = lastAfter("a", counts[0]!);
    yield* stores.sessions.append("a", [event(afterLSN + 1)], { afterLSN, epoch: 1 });
    return counts[0]!;
  } finally {
    stores.close();
  }
}

/** The same numbers in every run. */
function* numbers(count: number, below: number): Iterable<number> {
  let state = 20260104;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield Math.floor(state / 2 ** 32 * below);
  }
}

function change(path: string, body: (bytes: Uint8Array) => void): void {
  const bytes = readFileSync(path);
  body(bytes);
  writeFileSync(path, bytes);
}

describe("a store whose log is torn", () => {
  /** Where to tear: at and around the end of every transaction, and anywhere. */
  const places = ({ ends }: Torn) =>
    [
      0,
      1,
      LOG_HEADER,
      ...ends.flatMap((end) => [end - 1, end, end + 1]),
      ...numbers(40, ends.at(-1)!),
    ].filter((place) => place <= ends.at(-1)!);

  const kinds: Record<string, (log: string, place: number) => void> = {
    "cut off": (log, place) => truncateSync(log, place),
    "zeros from there on": (log, place) => change(log, (bytes) => bytes.fill(0, place)),
    "garbage from there on": (log, place) => change(log, (bytes) => bytes.fill(0xa7, place)),
    "one bit that is wrong": (log, place) =>
      change(log, (bytes) => {
        if (place < bytes.length) bytes[place]! ^= 1;
      }),
  };

  for (const [kind, tear] of Object.entries(kinds)) {
    it(`has everything that was acknowledged before the tear, complete: ${kind}`, function* () {
      const torn = yield* crashed(yield* useFolder());
      for (const place of places(torn)) {
        const found = yield* after(torn, (copy) => tear(`${copy}-wal`, place));
        if (found instanceof StoreError) assert.match(found.message, /^Cannot .+: .+; .+$/s);
        else {
          const sure = CLOSED + torn.ends.filter((end) => end <= place).length;
          assert.ok(found >= sure, `torn at ${place}: ${found} of ${sure} are there`);
        }
      }
    }, { within: 120_000 });
  }
});

describe("a store whose file is torn", () => {
  it("has everything if the log has what was torn, as during a checkpoint", function* () {
    const torn = yield* crashed(yield* useFolder());
    const log = readFileSync(`${torn.path}-wal`);
    const pages = new Set<number>();
    for (let at = LOG_HEADER; at < log.length; at += FRAME) pages.add(log.readUInt32BE(at));
    const length = statSync(torn.path).size;
    let tried = 0;
    for (const page of pages) {
      const start = (page - 1) * PAGE;
      // The first sector has the header of the file; a sector is written completely or not at all.
      for (const from of [start + 512, start + 2048, start + PAGE - 512]) {
        if (from >= length) continue;
        tried++;
        for (const value of [0, 0xa7]) {
          const found = yield* after(
            torn,
            (copy) => change(copy, (bytes) => bytes.fill(value, from, start + PAGE)),
          );
          assert.equal(found, CLOSED + LOGGED, `page ${page} from ${from}`);
        }
      }
    }
    assert.ok(tried > 5, `only ${tried} tears`);
  }, { within: 120_000 });

  it("has everything, or is refused with a reason, wherever it ends", function* () {
    const torn = yield* crashed(yield* useFolder());
    const length = statSync(torn.path).size;
    const outcomes = { whole: 0, refused: 0 };
    const places = [...numbers(40, length), length - 1, length - 512, length - PAGE, 1, 99, 100];
    for (const place of places) {
      for (
        const tear of [
          (copy: string) => truncateSync(copy, place),
          (copy: string) => change(copy, (bytes) => bytes.fill(0, place)),
        ]
      ) {
        // Without its log too: everything that was in the file alone.
        for (const rest of [tear, (copy: string) => (truncateSync(`${copy}-wal`), tear(copy))]) {
          const found = yield* after(torn, rest);
          if (found instanceof StoreError) {
            assert.match(found.message, /^Cannot .+: .+; .+$/s);
            outcomes.refused++;
          } else {
            assert.ok(found >= CLOSED, `ends at ${place}: ${found}`);
            outcomes.whole++;
          }
        }
      }
    }
    assert.ok(outcomes.refused > 0, "nothing was refused");
  }, { within: 120_000 });

  it("is refused if only its log is left, which is kept", function* () {
    const torn = yield* crashed(yield* useFolder());
    const log = readFileSync(`${torn.path}-wal`);
    for (const lose of [(path: string) => truncateSync(path), rmSync]) {
      lose(torn.path);
      const refused = tryOpen(torn.path);
      assert.ok(refused instanceof StoreError, "it was opened");
      assert.match(
        refused.message,
        /it is damaged \(the file is empty or missing, but ".+-wal" exists/,
      );
      assert.deepEqual(readFileSync(`${torn.path}-wal`), log);
    }
  });
});
