/** Reads the output of `deno check` and compares it with the errors that a file expects. */
import { fileURLToPath } from "node:url";
import { root } from "./files.ts";

/** The messages for each file, relative to the repository. */
export function readErrors(output: string): Map<string, string[]> {
  const errors = new Map<string, string[]>();
  for (const block of output.split(/^(?=TS\d+ \[ERROR\]: )/m).slice(1)) {
    // The first position is the error's; later ones are of related declarations.
    const url = /^ +at (file:.+?):\d+:\d+$/m.exec(block)?.[1];
    if (url === undefined) throw new Error(`Cannot tell the place of a type error:\n${block}`);
    const file = fileURLToPath(url).slice(root.length).replaceAll("\\", "/");
    const message = oneLine(block.slice(0, block.indexOf(url)));
    errors.set(file, [...errors.get(file) ?? [], message]);
  }
  return errors;
}

/** How a file's errors differ from the expected ones; empty if each matches one. */
export function mismatches(source: string, errors: readonly string[]): string[] {
  const expected = Array.from(
    source.matchAll(/^\/\/ expect-error: (.+)$/gm),
    ([, fragment = ""]) => oneLine(fragment),
  );
  if (expected.length === 0) return ["says no // expect-error: of its own"];
  return [
    ...expected
      .filter((fragment) => !errors.some((error) => error.includes(fragment)))
      .map((fragment) => `did not fail with: ${fragment}`),
    ...errors
      .filter((error) => !expected.some((fragment) => error.includes(fragment)))
      .map((error) => `failed unexpectedly with: ${error}`),
  ];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
