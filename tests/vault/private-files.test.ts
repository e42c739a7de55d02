import assert from "node:assert/strict";
import { until } from "effection";
import { readdirSync, writeFileSync } from "node:fs";
import * as node from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { FileVault } from "../../src/vault/file-vault.ts";
import type { Disk } from "../../src/vault/private-files.ts";
import { VaultError } from "../../src/vault/errors.ts";

/** A disk on which the step of that number fails; `steps` counts them. */
function failingDisk(failing: number, code: string): Disk & { steps: number } {
  const step =
    <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (disk.steps++ === failing) throw Object.assign(new Error(`${code}: injected`), { code });
      return await act(...args);
    };
  const disk = {
    steps: 0,
    rm: node.rm,
    rename: step(node.rename),
    open: step(async (...args: Parameters<typeof node.open>) => {
      const file = await node.open(...args);
      const faulty = {
        writeFile: step((text: string) => file.writeFile(text)),
        sync: step(() => file.sync()),
        close: () => file.close(),
      };
      return faulty as unknown as node.FileHandle;
    }),
  };
  return disk;
}

describe("writePrivateFile()", () => {
  it("leaves the old document or the new one, at whichever step the disk fails", function* () {
    const codes = ["ENOSPC", "EIO", "EROFS", "EACCES"];
    let failing = 0;
    for (let ended = false; !ended; failing++) {
      const folder = yield* useFolder();
      const vault = new FileVault({ folder });
      yield* until(vault.update("accounts", () => ({ text: "old", value: 0 })));
      const disk = failingDisk(failing, codes[failing % codes.length]!);
      const error = yield* until(
        new FileVault({ folder, disk }).update("accounts", () => ({ text: "new", value: 0 }))
          .then(() => undefined, (error) => error),
      );
      ended = error === undefined;
      const text = yield* until(vault.read("accounts"));
      if (ended) assert.equal(text, "new");
      else {
        assert.ok(error instanceof VaultError, `${error}`);
        assert.match(error.message, /^Cannot write ".+": .+; /);
        assert.ok(text === "old" || text === "new", text);
      }
      assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith(".tmp")), []);
    }
    // open, write, sync, rename; open and sync of the folder; and once without a fault.
    assert.equal(failing, process.platform === "win32" ? 5 : 7);
  });

  it("removes the files of a writer that was killed", function* () {
    const folder = yield* useFolder();
    const vault = new FileVault({ folder });
    writeFileSync(join(folder, "accounts.sealed.1.0a0b0c0d.tmp"), "half");
    yield* until(vault.update("accounts", () => ({ text: "new", value: 0 })));
    assert.deepEqual(readdirSync(folder).sort(), ["accounts.sealed", "vault.key", "vault.lock"]);
  });
});
