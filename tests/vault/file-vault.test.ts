import assert from "node:assert/strict";
import { spawn, until } from "effection";
import * as fc from "fast-check";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { inspect } from "node:util";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { FileVault } from "../../src/vault/file-vault.ts";
import { VaultError, type VaultProblem } from "../../src/vault/errors.ts";

const SECRET = "app-password-7f3k";
const onPosix = it.when(process.platform !== "win32");
const modeOf = (path: string) => statSync(path).mode & 0o777;
const put = (vault: FileVault, name: string, text: string | undefined) =>
  vault.update(name, () => ({ text, value: undefined }));

/** Asserts that it is refused for that reason, in a sentence with a remedy and without a secret. */
async function refused(attempt: Promise<unknown>, problem: VaultProblem): Promise<VaultError> {
  const error = await attempt.then(() => assert.fail("it was not refused"), (error) => error);
  assert.ok(error instanceof VaultError, inspect(error));
  assert.equal(error.problem, problem);
  assert.match(error.message, /^Cannot .+: .+; .+/);
  assert.ok(!inspect(error, { depth: 9 }).includes(SECRET));
  return error;
}

/** A vault with one document, and the document's file. */
async function filled(folder: string, passphrase?: string) {
  const vault = new FileVault({ folder, passphrase });
  await put(vault, "accounts", SECRET);
  return { vault, path: join(folder, "accounts.sealed"), key: join(folder, "vault.key") };
}

describe("FileVault", () => {
  it("keeps a document under its name, until it is deleted", function* () {
    const folder = join(yield* useFolder(), "a", "b");
    const vault = new FileVault({ folder });
    assert.equal(yield* until(vault.read("accounts")), undefined);
    const text = `é😀\0 ${"long ".repeat(50_000)}`;
    const value = yield* until(vault.update("accounts", (before) => ({ text, value: [before] })));
    assert.deepEqual(value, [undefined]);
    yield* until(put(vault, "other", ""));
    const again = new FileVault({ folder });
    assert.equal(yield* until(again.read("accounts")), text);
    assert.equal(yield* until(again.read("other")), "");
    yield* until(put(again, "accounts", undefined));
    assert.equal(yield* until(vault.read("accounts")), undefined);
    assert.deepEqual(readdirSync(folder).sort(), ["other.sealed", "vault.key", "vault.lock"]);
  });

  it("writes nothing if the change throws, or changes nothing", function* () {
    const { vault, path } = yield* until(filled(yield* useFolder()));
    const before = readFileSync(path, "utf8");
    const problem = new Error("on second thought");
    const attempt = vault.update("accounts", () => {
      throw problem;
    });
    assert.equal(yield* until(attempt.catch((error) => error)), problem);
    yield* until(vault.update("accounts", (text) => ({ text, value: 1 })));
    assert.equal(readFileSync(path, "utf8"), before);
  });

  it("refuses a name that could lead elsewhere", function* () {
    const vault = new FileVault({ folder: yield* useFolder() });
    for (const name of ["", "../x", "a/b", "A", ".x", "x.", "a b", "é", "x".repeat(65)]) {
      const error = yield* until(vault.read(name).catch((error) => error));
      assert.ok(error instanceof RangeError, name);
      assert.ok((yield* until(put(vault, name, "").catch((e) => e))) instanceof RangeError, name);
    }
  });

  it("reveals nothing of a document to readers of the file", function* () {
    const folder = yield* useFolder();
    const { path } = yield* until(filled(folder));
    assert.ok(!readFileSync(path, "latin1").includes(SECRET));
    assert.equal(JSON.parse(readFileSync(path, "utf8")).version, 1);
  });

  onPosix("makes files readable by their owner only, and repairs those that are not", function* () {
    const folder = join(yield* useFolder(), "vault");
    const { vault, path, key } = yield* until(filled(folder));
    const modes = () => [folder, path, key, join(folder, "vault.lock")].map(modeOf);
    assert.deepEqual(modes(), [0o700, 0o600, 0o600, 0o600]);
    chmodSync(folder, 0o755);
    chmodSync(path, 0o644);
    chmodSync(key, 0o666);
    assert.equal(yield* until(vault.read("accounts")), SECRET);
    assert.deepEqual([path, key].map(modeOf), [0o600, 0o600]);
    yield* until(put(vault, "accounts", "new"));
    assert.deepEqual(modes(), [0o700, 0o600, 0o600, 0o600]);
  });

  onPosix("refuses a folder that is open to others and used for other things", function* () {
    const folder = join(yield* useFolder(), "shared");
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "letter.txt"), "");
    const error = yield* until(refused(filled(folder), "permissions"));
    assert.match(error.message, /chmod 700/);
    assert.equal(modeOf(folder), 0o755);
    assert.deepEqual(readdirSync(folder), ["letter.txt"]);
  });

  it("seals with a passphrase, whatever its Unicode form", function* () {
    const folder = yield* useFolder();
    const { path } = yield* until(filled(folder, "caf\u00e9"));
    const before = readFileSync(path);
    assert.deepEqual(readdirSync(folder).sort(), ["accounts.sealed", "vault.lock"]);
    const vault = new FileVault({ folder, passphrase: "cafe\u0301" });
    assert.equal(yield* until(vault.read("accounts")), SECRET);
    for (const passphrase of ["cafe", undefined]) {
      const other = new FileVault({ folder, passphrase });
      const error = yield* until(refused(other.read("accounts"), "passphrase"));
      assert.match(error.message, /PARLEY_PASSPHRASE/);
      yield* until(refused(put(other, "accounts", "new"), "passphrase"));
    }
    assert.deepEqual(readFileSync(path), before);
  });

  it("opens with the key that a file names, and then seals with the passphrase", function* () {
    const folder = yield* useFolder();
    yield* until(filled(folder));
    const vault = new FileVault({ folder, passphrase: "new" });
    assert.equal(yield* until(vault.read("accounts")), SECRET);
    yield* until(put(vault, "accounts", "changed"));
    yield* until(refused(new FileVault({ folder }).read("accounts"), "passphrase"));
    assert.equal(yield* until(vault.read("accounts")), "changed");
  });

  it("does not change a file that a newer version wrote", function* () {
    const { vault, path } = yield* until(filled(yield* useFolder()));
    const text = JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), version: 2 });
    writeFileSync(path, text);
    yield* until(refused(vault.read("accounts"), "newer"));
    const error = yield* until(refused(put(vault, "accounts", "new"), "newer"));
    assert.match(error.message, /update Parley/);
    assert.equal(readFileSync(path, "utf8"), text);
  });

  it("says what to do if the key is missing, damaged or another one", function* () {
    const folder = yield* useFolder();
    const { vault, path, key } = yield* until(filled(folder));
    const [sealed, genuine] = [readFileSync(path), readFileSync(key)];
    const other = yield* until(filled(yield* useFolder()));
    for (
      const spoil of [
        () => rmSync(key),
        () => writeFileSync(key, "x"),
        () => copyFileSync(other.key, key),
      ]
    ) {
      spoil();
      yield* until(refused(vault.read("accounts"), "damaged"));
      yield* until(refused(put(vault, "accounts", "new"), "damaged"));
    }
    rmSync(key);
    // With a new key it would be too late to restore the old one.
    yield* until(refused(put(vault, "second", "new"), "damaged"));
    assert.deepEqual(readFileSync(path), sealed);
    writeFileSync(key, genuine);
    assert.equal(yield* until(vault.read("accounts")), SECRET);
  });

  it("never returns one document as another", function* () {
    const folder = yield* useFolder();
    const { vault, path } = yield* until(filled(folder));
    copyFileSync(path, join(folder, "other.sealed"));
    yield* until(refused(vault.read("other"), "damaged"));
  });

  for (const passphrase of [undefined, "a passphrase"]) {
    const sealedWith = passphrase ? "a passphrase" : "a key file";
    it(
      `detects every damage to a file sealed with ${sealedWith}, and does not change it`,
      function* () {
        const folder = yield* useFolder();
        const { vault, path } = yield* until(filled(folder, passphrase));
        const good = readFileSync(path);
        const at = fc.nat(good.length - 1);
        const damage = fc.oneof(
          fc.tuple(at, fc.integer({ min: 1, max: 255 })).map(([index, mask]) => {
            const bytes = Uint8Array.from(good);
            bytes[index] = bytes[index]! ^ mask;
            return bytes;
          }),
          at.map((length) => good.subarray(0, length)),
          fc.uint8Array({ maxLength: 200 }),
          fc.json().map((text) => new TextEncoder().encode(text)),
        );
        const property = fc.asyncProperty(damage, async (bytes) => {
          writeFileSync(path, bytes);
          // White space around JSON, and what only distinguishes a wrong key from damage, may be
          // anything.
          const text = await vault.read("accounts").catch((error) => {
            assert.ok(error instanceof VaultError, inspect(error));
            assert.match(error.message, /^Cannot .+: .+; .+/);
          });
          if (text !== undefined) return assert.equal(text, SECRET);
          const attempt = put(vault, "accounts", "new").catch((error) => error);
          assert.ok(await attempt instanceof VaultError);
          assert.deepEqual(new Uint8Array(readFileSync(path)), new Uint8Array(bytes));
        });
        yield* until(fc.assert(property, { numRuns: 200 }));
        writeFileSync(path, good);
        assert.equal(yield* until(vault.read("accounts")), SECRET);
      },
      { within: 120_000 },
    );
  }

  it("stays intact and unlocked when a change is halted", function* () {
    const { vault } = yield* until(filled(yield* useFolder()));
    const task = yield* spawn(() => until(put(vault, "accounts", "changed")));
    yield* task.halt();
    const seen = yield* until(vault.update("accounts", (text) => ({ text: "next", value: text })));
    assert.ok(seen === SECRET || seen === "changed", seen);
    assert.equal(yield* until(vault.read("accounts")), "next");
  });
});
