/**
 * Generates the files that contain browser code as text that the server can send. They are checked
 * in, so that they work the same on every runtime, in a bundle and in a compiled program.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";

interface Script {
  readonly file: string;
  readonly doc: string;
}

/**
 * The generated files, and the scripts in each by the names of their constants. The console has its
 * own file, so that a server without a console does not load it.
 */
export const BUILT: { readonly [path: string]: { readonly [constant: string]: Script } } = {
  "src/ui/built.ts": {
    PAGE_SCRIPT: { file: "src/ui/page-script.ts", doc: "The script of the asking page." },
    VIEW_SCRIPT: { file: "src/ui/view-script.ts", doc: "The script of views that ask." },
  },
  "src/ui/console/built.ts": {
    CONSOLE_SCRIPT: { file: "src/ui/console/main.tsx", doc: "The script of the console." },
  },
};

/** The new text of a generated file, before formatting. */
export function builtText(path: string): string {
  const constants = Object.entries(BUILT[path]!).map(([name, { file, doc }]) =>
    `/** ${doc} Made from ${file}. */\nexport const ${name} =\n  ${JSON.stringify(bundle(file))};\n`
  );
  return [
    "/** Browser code as text. `deno task ui` generates it; a test checks that it is up to date. */\n",
    ...constants,
  ].join("\n");
}

/** Bundles a script with its imports into one minified text. */
export function bundle(file: string): string {
  const production = ["--define", 'process.env.NODE_ENV="production"'];
  const args = ["build", file, "--minify", "--target=browser", "--format=esm", ...production];
  const { status, stdout, stderr } = spawnSync(useRuntime("bun").path, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`Cannot bundle ${join(root, file)}: bun failed:\n${stderr}`);
  // The text is embedded in a page, so it must not contain `</script`.
  return stdout.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}
