import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomBytes, scryptSync } from "node:crypto";
import fc from "fast-check";
import { formerKey, Sealer } from "../../src/lib/sealer.ts";
import { describe, it } from "../suite.ts";

const key = randomBytes(32);
const sealer = new Sealer(key);

/** The same bytes with one change. */
function altered(sealed: string, change: (bytes: Buffer) => Uint8Array): string {
  return Buffer.from(change(Buffer.from(sealed, "base64url"))).toString("base64url");
}

describe("Sealer", () => {
  it("opens what it sealed, for the same context", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "binary" }),
        (plain, context) => {
          // A lone surrogate has no UTF-8 bytes; JSON escapes it before it gets here.
          fc.pre(plain.isWellFormed() && context.isWellFormed());
          assert.equal(sealer.open(sealer.seal(plain, context), context), plain);
        },
      ),
      { seed: 1 },
    );
  });

  it("opens without a context what was sealed without one", () => {
    assert.equal(sealer.open(sealer.seal("")), "");
    assert.equal(sealer.open(sealer.seal("a")), "a");
  });

  it("seals the same text differently every time, and shows none of it", () => {
    const sealed = [sealer.seal("hunter2"), sealer.seal("hunter2")];
    assert.notEqual(sealed[0], sealed[1]);
    for (const one of sealed) {
      assert.match(one, /^[\w-]+$/);
      assert.ok(!Buffer.from(one, "base64url").toString("latin1").includes("hunter2"));
    }
  });
});

describe("Sealer.open() refuses", () => {
  const sealed = sealer.seal("a secret of some length", "ctx");
  const size = Buffer.from(sealed, "base64url").length;

  it("a change of any bit of any byte", () => {
    for (let at = 0; at < size; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const touched = altered(sealed, (bytes) => {
          bytes[at]! ^= 1 << bit;
          return bytes;
        });
        assert.equal(sealer.open(touched, "ctx"), undefined, `byte ${at}, bit ${bit}`);
      }
    }
  });

  it("any truncation, at either end, and anything added", () => {
    for (let length = 0; length < size; length++) {
      assert.equal(
        sealer.open(altered(sealed, (bytes) => bytes.subarray(0, length)), "ctx"),
        undefined,
      );
      assert.equal(
        sealer.open(altered(sealed, (bytes) => bytes.subarray(size - length)), "ctx"),
        undefined,
      );
    }
    const longer = altered(sealed, (bytes) => Buffer.concat([bytes, Buffer.of(0)]));
    assert.equal(sealer.open(longer, "ctx"), undefined);
  });

  it("another key", () => {
    assert.equal(new Sealer(randomBytes(32)).open(sealed, "ctx"), undefined);
    assert.equal(new Sealer().open(sealed, "ctx"), undefined);
  });

  it("another context, and none", () => {
    for (const context of ["", "Ctx", "ctx ", "ct", undefined]) {
      assert.equal(sealer.open(sealed, context), undefined, context);
    }
  });

  it("every other spelling of the same bytes", () => {
    const standard = sealer.seal("???>>>~~~".repeat(20), "ctx");
    const spellings = [
      `${sealed}=`,
      `${sealed}==`,
      ` ${sealed}`,
      `${sealed}\n`,
      `${sealed.slice(0, 5)}.${sealed.slice(5)}`,
      standard.replaceAll("-", "+").replaceAll("_", "/"),
    ];
    assert.ok(/[-_]/.test(standard), "the sample must have something to spell otherwise");
    for (const spelling of spellings) assert.equal(sealer.open(spelling, "ctx"), undefined);
    // The last character may hold bits that belong to no byte.
    const last = sealed.at(-1)!;
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (const other of alphabet.replace(last, "")) {
      assert.equal(sealer.open(sealed.slice(0, -1) + other, "ctx"), undefined, other);
    }
  });

  it("anything else, without throwing", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.base64String()), (text) => {
        assert.equal(sealer.open(text), undefined);
      }),
      { seed: 1 },
    );
  });
});

describe("new Sealer()", () => {
  it("seals with its first key and opens with all of them, so that keys can be rotated", () => {
    const [old, young] = ["the old key", randomBytes(32)];
    const before = new Sealer(old).seal("kept", "c");
    const rotated = new Sealer(young, old);
    assert.equal(rotated.open(before, "c"), "kept");
    const after = rotated.seal("new", "c");
    assert.equal(new Sealer(young).open(after, "c"), "new");
    assert.equal(new Sealer(old).open(after, "c"), undefined);
  });

  it("derives the same key from the same string, and another from another", () => {
    assert.equal(new Sealer("passphrase").open(new Sealer("passphrase").seal("x")), "x");
    assert.equal(new Sealer("passphrasf").open(new Sealer("passphrase").seal("x")), undefined);
  });

  it("stretches a passphrase, so that guessing is slow", () => {
    const sealed = new Sealer("passphrase").seal("x");
    const cost = { N: 16_384, r: 8, p: 1 };
    const stretched = scryptSync("passphrase", "parley key 2", 32, cost);
    assert.equal(new Sealer(stretched).open(sealed), "x");
    assert.equal(new Sealer(formerKey("passphrase")).open(sealed), undefined);
    // The id of the key must not be faster to derive either.
    const [id, former] = new Sealer("passphrase").keyIds;
    assert.equal(Buffer.from(sealed, "base64url").toString("hex", 1, 5), id);
    assert.deepEqual(new Sealer(formerKey("passphrase")).keyIds, [former]);
    assert.notEqual(id, former);
  });

  it("opens what was sealed before passphrases were stretched", () => {
    const before = new Sealer(formerKey("the old key")).seal("kept", "c");
    assert.equal(new Sealer("the old key").open(before, "c"), "kept");
    assert.equal(new Sealer("a new key", "the old key").open(before, "c"), "kept");
    assert.equal(new Sealer("a new key").open(before, "c"), undefined);
  });

  it("uses a text of 32 random bytes unchanged, as in a store's key file", () => {
    const text = createHash("sha256").update("a key file").digest("base64url");
    assert.match(text, /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{43}$/);
    assert.deepEqual(new Sealer(text).keyIds, new Sealer(formerKey(text)).keyIds);
    assert.equal(new Sealer(text).open(new Sealer(formerKey(text)).seal("x")), "x");
  });

  it("stretches a passphrase that is as long as such a text", () => {
    for (
      const passphrase of [
        "correct-horse-battery-staple-with-many-more",
        "correct_horse_battery_staple_1234567_and_so",
        "CORRECT-HORSE-BATTERY-STAPLE-1234567-AND-SO",
        "CorrectHorseBatteryStapleWithManyMoreWordsX",
        // Bits that belong to no byte: no encoder writes this.
        `${"aB3".repeat(14)}b`,
      ]
    ) {
      assert.equal(passphrase.length, 43);
      const sealed = new Sealer(passphrase).seal("x");
      assert.equal(new Sealer(formerKey(passphrase)).open(sealed), undefined, passphrase);
      const before = new Sealer(formerKey(passphrase)).seal("x");
      assert.equal(new Sealer(passphrase).open(before), "x", passphrase);
    }
  });

  it("has an id for each key, the sealing key first, and reveals nothing of the keys", () => {
    const [one, two] = [randomBytes(32), randomBytes(32)];
    const ids = new Sealer(one, two).keyIds;
    assert.deepEqual(ids, [...new Sealer(one).keyIds, ...new Sealer(two).keyIds]);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}$/);
    assert.ok(!one.toString("hex").includes(ids[0]!));
  });

  it("keeps its own copy of the bytes it was given", () => {
    const bytes = randomBytes(32);
    const early = new Sealer(bytes);
    const sealed = early.seal("x");
    bytes.fill(0);
    assert.equal(early.open(sealed), "x");
  });

  it("refuses a key of another length", () => {
    for (const length of [0, 16, 31, 33]) {
      assert.throws(() => new Sealer(randomBytes(length)), TypeError);
    }
  });
});
