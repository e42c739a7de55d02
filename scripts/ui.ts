/**
 * Bundles the browser code of src/ui into src/ui/built.ts and src/ui/console/built.ts.
 *
 *     deno task ui
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { formatted } from "./api-reference.ts";
import { BUILT, builtText } from "./browser-code.ts";

installDependencies();
for (const path of Object.keys(BUILT)) {
  writeFileSync(join(root, path), formatted(builtText(path), "ts"));
  console.log(`${path} is up to date`);
}
