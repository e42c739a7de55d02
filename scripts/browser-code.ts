/**
 * Generates `src/ui/built.ts`, which contains browser code as text that the server can send. The
 * file is checked in, so that it works the same on every runtime, in a bundle and in a compiled
 * program.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";

/** The generated file. */
export const BUILT = "src/ui/built.ts";

/** The scripts, by the names of their constants in the generated file. */
const SCRIPTS: { readonly [constant: string]: { readonly file: string; readonly doc: string } } = {
  PAGE_SCRIPT: { file: "src/ui/page-script.ts", doc: "The script of the asking page." },
  VIEW_SCRIPT: { file: "src/ui/view-script.ts", doc: "The script of views that ask." },
};

/** The new text of `src/ui/built.ts`, before formatting. */
export function builtText(): string {
  const constants = Object.entries(SCRIPTS).map(([name, { file, doc }]) =>
    `/** ${doc} Made from ${file}. */\nexport const ${name} =\n  ${JSON.stringify(bundle(file))};\n`
  );
  return [
    "/** Browser code as text. `deno task ui` generates it; a test checks that it is up to date. */\n",
    ...constants,
  ].join("\n");
}

/** Bundles a script with its imports into one minified text. */
export function bundle(file: string): string {
  const args = ["build", file, "--minify", "--target=browser", "--format=esm"];
  const { status, stdout, stderr } = spawnSync(useRuntime("bun").path, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`Cannot bundle ${join(root, file)}: bun failed:\n${stderr}`);
  // The text is embedded in a page, so it must not contain `</script`.
  return stdout.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}
