/** Finds which test files use a module of tests/, directly or indirectly. */
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { readText, root } from "./files.ts";
import { importsOf } from "./tokens.ts";

export function reaches(files: readonly string[], module: string): boolean {
  const seen = new Set<string>();
  const visit = (file: string): boolean => {
    if (file === module) return true;
    if (seen.has(file) || !file.startsWith("tests/") || !existsSync(join(root, file))) return false;
    seen.add(file);
    return importsOf(readText(file))
      .filter((name) => name.startsWith("."))
      .some((name) => visit(posix.join(posix.dirname(file), name)));
  };
  return files.some(visit);
}
