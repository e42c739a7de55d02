/**
 * Writes the files that are generated from the source: the API reference (docs/api.md), the table
 * of flags in docs/operation.md, the list of scenarios in docs/protocol.md, and the schema of the
 * config file.
 *
 *     deno task api
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { madePages } from "./made-pages.ts";

installDependencies();
for (const [path, text] of madePages()) {
  writeFileSync(join(root, path), text);
  console.log(`${path} is up to date`);
}
