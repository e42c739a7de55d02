import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { until } from "effection";
import { useFolder } from "../../support/folder.ts";
import { describe, it } from "../../suite.ts";
import type { FullDiskReport } from "./full-disk.ts";
import { useChild } from "./kit.ts";

/** Runs a command with a small file system in a folder, invisible to others. */
const withSmallDisk = (folder: string) => [
  "unshare",
  "-rm",
  "sh",
  "-c",
  `mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"`,
  folder,
];

const [probe, ...args] = [...withSmallDisk("/mnt"), "true"];
const possible = spawnSync(probe!, args).status === 0;
// In CI it must not be skipped.
const wanted = possible || process.env["CI"] !== undefined;

describe("a disk that is full", () => {
  it.when(wanted)(
    wanted
      ? "reports writes that do not fit, keeps what was acknowledged, and works again when there is room"
      : "NEEDS A FILE SYSTEM OF ITS OWN, which `unshare -rm` and a tmpfs would make: not allowed here",
    function* () {
      const folder = yield* useFolder();
      const child = yield* useChild("full-disk.ts", [folder], withSmallDisk(folder));
      const line = yield* until(child.line());
      assert.notEqual(line, undefined, "it told nothing");
      const report: FullDiskReport = JSON.parse(line!);
      assert.ok(report.before > 20, `${report.before} fitted`);
      assert.deepEqual(report.errors, [
        `Cannot write to the store "${folder}/store.db": the disk is full; free some space, and try again`,
      ]);
      assert.equal(report.failed, 40);
      assert.deepEqual(report.whole, [true, true, true, true]);
      assert.equal(
        report.another,
        `Cannot open the store "${folder}/another.db": the disk is full; free some space, and try again`,
      );
      assert.deepEqual(report.after, [4, 4]);
      assert.equal(yield* until(child.ended()), 0);
    },
    { within: 60_000 },
  );
});
