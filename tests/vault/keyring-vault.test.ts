import assert from "node:assert/strict";
import { until } from "effection";
import * as fc from "fast-check";
import { readdirSync } from "node:fs";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { KeyringVault } from "../../src/vault/keyring-vault.ts";
import type { Keyring } from "../../src/vault/keyring.ts";
import { VaultError } from "../../src/vault/errors.ts";

/** A keyring in memory that enforces its limit, and can fail or be overtaken at any step. */
class TestKeyring implements Keyring {
  readonly entries = new Map<string, string>();
  steps = 0;
  failing = -1;
  /** Called before each step. */
  before: (step: string, entry: string) => Promise<void> = () => Promise.resolve();
  constructor(readonly limit: number) {}

  async get(entry: string) {
    await this.#step("get", entry);
    return this.entries.get(entry);
  }
  async set(entry: string, text: string) {
    await this.#step("set", entry);
    assert.ok(text.length <= this.limit, `${entry} has ${text.length}`);
    this.entries.set(entry, text);
  }
  async delete(entry: string) {
    await this.#step("delete", entry);
    this.entries.delete(entry);
  }
  async #step(step: string, entry: string) {
    if (this.steps++ === this.failing) throw new VaultError("unreachable", "injected");
    await this.before(step, entry);
  }
}

const LIMIT = 150;
const long = (letter: string) => letter.repeat(1_000);
const put = (vault: KeyringVault, text: string | undefined) =>
  vault.update("accounts", () => ({ text, value: undefined }));

describe("KeyringVault", () => {
  it("keeps any text, in entries of any size, and leaves no part over", function* () {
    const folder = yield* useFolder();
    const texts = fc.array(
      fc.option(fc.string({ unit: "binary", maxLength: 600, size: "max" }), { nil: undefined }),
      { minLength: 1, maxLength: 4 },
    );
    const property = fc.asyncProperty(
      texts,
      fc.integer({ min: 130, max: 700 }),
      async (all, limit) => {
        const keyring = new TestKeyring(limit);
        const vault = new KeyringVault({ label: "Parley", keyring, folder });
        for (const text of all) {
          await put(vault, text);
          assert.equal(await vault.read("accounts"), text);
        }
        await put(vault, undefined);
        assert.deepEqual([...keyring.entries.keys()], []);
      },
    );
    yield* until(fc.assert(property, { numRuns: 60 }));
  }, { within: 60_000 });

  it("has the old text or the new one, at whichever step it fails", function* () {
    const changes: [string | undefined, string | undefined][] = [
      [long("a"), long("b")],
      ["short", long("b")],
      [long("a"), "short"],
      [undefined, long("b")],
      [long("a"), undefined],
    ];
    for (const [old, fresh] of changes) {
      for (let failing = 0, ended = false; !ended; failing++) {
        const folder = yield* useFolder();
        const keyring = new TestKeyring(LIMIT);
        const vault = new KeyringVault({ label: "Parley", keyring, folder });
        yield* until(put(vault, old));
        Object.assign(keyring, { steps: 0, failing });
        const error = yield* until(put(vault, fresh).then(() => undefined, (error) => error));
        // A failure after everything is written does not fail the change.
        ended = keyring.steps <= failing;
        keyring.failing = -1;
        const text = yield* until(vault.read("accounts"));
        if (error === undefined) assert.equal(text, fresh);
        else assert.ok(text === old || text === fresh, `step ${failing}`);
        // What was left over does not disturb later changes.
        yield* until(put(vault, long("c")));
        assert.equal(yield* until(vault.read("accounts")), long("c"));
      }
    }
  }, { within: 60_000 });

  it("reads one text or the other if it is rewritten at any step", function* () {
    for (let overtaken = 0, ended = false; !ended; overtaken++) {
      const folder = yield* useFolder();
      const keyring = new TestKeyring(LIMIT);
      const vault = new KeyringVault({ label: "Parley", keyring, folder });
      yield* until(put(vault, long("a")));
      let step = 0;
      ended = true;
      keyring.before = async () => {
        if (step++ !== overtaken) return;
        ended = false;
        keyring.before = () => Promise.resolve();
        // Twice, so that the parts it was reading are rewritten.
        await put(vault, long("b"));
        await put(vault, long("c"));
      };
      const text = yield* until(vault.read("accounts"));
      assert.ok(
        text === (ended ? long("a") : long("c")) || text === long("a"),
        `step ${overtaken}`,
      );
    }
  }, { within: 60_000 });

  it("reports once that a document is gone, and accepts a new one", function* () {
    const folder = yield* useFolder();
    const keyring = new TestKeyring(LIMIT);
    const vault = new KeyringVault({ label: "Parley", keyring, folder });
    yield* until(put(vault, "precious"));
    keyring.entries.clear();
    const outcomes = yield* until(
      Promise.allSettled([vault.read("accounts"), vault.read("accounts")]),
    );
    const [told, ...more] = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.ok(told?.reason instanceof VaultError && more.length === 0);
    assert.equal(told.reason.problem, "damaged");
    assert.match(told.reason.message, /from a backup, or log in again/);
    assert.equal(yield* until(vault.read("accounts")), undefined);
    yield* until(put(vault, "new"));
    assert.equal(yield* until(vault.read("accounts")), "new");
    keyring.entries.clear();
    // A writer need not have read before.
    yield* until(put(vault, "newer"));
    assert.equal(yield* until(vault.read("accounts")), "newer");
    yield* until(put(vault, undefined));
    assert.equal(yield* until(vault.read("accounts")), undefined);
    assert.deepEqual(readdirSync(folder), ["vault.lock"]);
  });

  it("misses nothing that is being stored for the first time", function* () {
    const folder = yield* useFolder();
    const keyring = new TestKeyring(LIMIT);
    const vault = new KeyringVault({ label: "Parley", keyring, folder });
    keyring.before = async () => {
      // The reader has seen nothing yet; now it is there.
      keyring.before = () => Promise.resolve();
      const text = await keyring.get("accounts");
      await put(vault, "first");
      assert.equal(text, undefined);
    };
    const get = keyring.get.bind(keyring);
    keyring.get = async (entry) => {
      const seen = keyring.entries.get(entry);
      keyring.get = get;
      await get(entry);
      return seen;
    };
    assert.equal(yield* until(vault.read("accounts")), "first");
  });

  it("refuses what is damaged or newer, and does not change it", function* () {
    const folder = yield* useFolder();
    const keyring = new TestKeyring(LIMIT);
    const vault = new KeyringVault({ label: "Parley", keyring, folder });
    yield* until(put(vault, long("a")));
    const good = new Map(keyring.entries);
    const head = JSON.parse(good.get("accounts")!);
    const spoiled: [string, string | undefined, string][] = [
      ["accounts", "", "damaged"],
      ["accounts", "null", "damaged"],
      ["accounts", "{", "damaged"],
      ["accounts", JSON.stringify({ ...head, parts: 1e9 }), "damaged"],
      ["accounts", JSON.stringify({ ...head, digest: "x" }), "damaged"],
      ["accounts", JSON.stringify({ ...head, version: 2 }), "newer"],
      ["accounts a2", undefined, "damaged"],
      ["accounts a2", "AAAA", "damaged"],
    ];
    for (const [entry, text, problem] of spoiled) {
      keyring.entries.clear();
      for (const [name, value] of good) keyring.entries.set(name, value);
      if (text === undefined) keyring.entries.delete(entry);
      else keyring.entries.set(entry, text);
      const before = new Map(keyring.entries);
      for (const attempt of [vault.read("accounts"), put(vault, "new")]) {
        const error = yield* until(attempt.then(() => undefined, (error) => error));
        assert.ok(error instanceof VaultError, `${entry}: ${text}: ${error}`);
        assert.equal(error.problem, problem);
        assert.match(error.message, /^Cannot .+: .+; .+/);
      }
      assert.deepEqual(keyring.entries, before);
    }
  });
});
