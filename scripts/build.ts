/**
 * Builds the npm package into dist/npm.
 *
 *     deno task build
 */
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { buildPackage } from "./package.ts";

installDependencies();
buildPackage(join(root, "dist/npm"));
console.log("dist/npm is ready to be published: npm publish dist/npm");
