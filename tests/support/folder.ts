/** A temporary folder for one test, outside the project. */
import { type Operation, resource } from "effection";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function useFolder(): Operation<string> {
  return resource(function* (provide) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "parley-test-")));
    try {
      yield* provide(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
