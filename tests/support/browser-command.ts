/** A value for BROWSER: a program that opens the page that it is given, and signs in as alice. */
import { join } from "node:path";
import { root } from "../harness/files.ts";
import { currentRuntime, type RuntimeName, useRuntime } from "../harness/toolchain.ts";

export function browserCommand(name: RuntimeName = currentRuntime()): string {
  const run = name === "deno" ? " run -A --no-check" : "";
  return `${useRuntime(name).path}${run} ${join(root, "tests/client/oauth/browser-program.ts")}`;
}
