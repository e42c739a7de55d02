/**
 * Bundles the browser code of src/ui into src/ui/built.ts.
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
writeFileSync(join(root, BUILT), formatted(builtText(), "ts"));
console.log(`${BUILT} is up to date`);
