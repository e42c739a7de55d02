/** Checks types, lint and format, all three even if one fails. Run it as `deno task check`. */
import process from "node:process";
import { runChild } from "./harness/child.ts";
import { listFiles } from "./harness/files.ts";
import { installDependencies, useRuntime } from "./harness/toolchain.ts";

const typed = ["src", "tools", "scripts", "tests", "bench"]
  .flatMap((folder) => [...listFiles(folder, ".ts"), ...listFiles(folder, ".tsx")])
  // tests/types shows that these fail.
  .filter((file) => !file.includes("/must-not-compile/"));

installDependencies();
const deno = useRuntime("deno");
const failed: string[] = [];
for (
  const [what, ...args] of [
    ["types", "check", "--quiet", ...typed],
    ["lint", "lint", "--quiet"],
    ["format", "fmt", "--check"],
  ]
) {
  if (what === undefined) continue;
  const code = await runChild(deno.path, args);
  console.log(`${what}: ${code === 0 ? "ok" : "FAILED"}`);
  if (code !== 0) failed.push(what);
}
process.exitCode = failed.length === 0 ? 0 : 1;
