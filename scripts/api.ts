/**
 * Writes docs/api.md, the API reference.
 *
 *     deno task api
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { apiPage, formatted, publicSymbols } from "./api-reference.ts";

installDependencies();
const symbols = publicSymbols();
writeFileSync(join(root, "docs/api.md"), formatted(apiPage(symbols)));
console.log(`docs/api.md tells of ${symbols.length} symbols`);
