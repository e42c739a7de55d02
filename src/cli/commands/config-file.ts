/** Changes one value in a JSON file. Everything else stays, comments included. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { applyEdits, modify, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { dirname } from "node:path";
import process from "node:process";
import { Problem } from "../problem.ts";

const LENIENT = { allowTrailingComma: true, allowEmptyContent: true };

/** Returns `text` with `value` set at `path`. Errors name `file` as the source of the text. */
export function withValue(
  text: string,
  path: readonly string[],
  value: unknown,
  file: string,
): string {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, LENIENT);
  const [error] = errors;
  if (error || (tree && tree.type !== "object")) {
    const what = error ? describe(text, error) : "it does not contain an object";
    throw new Problem(
      `Cannot change ${file}: ${what}; fix the file, or use --print and add the entry by hand`,
    );
  }
  const formattingOptions = {
    insertSpaces: !/^\t/m.test(text),
    tabSize: /^( +)\S/m.exec(text)?.[1]?.length ?? 2,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
  const changed = applyEdits(text, modify(text, [...path], value, { formattingOptions }));
  return changed.endsWith("\n") ? changed : `${changed}${formattingOptions.eol}`;
}

function describe(text: string, { error, offset }: ParseError): string {
  const before = text.slice(0, offset).split("\n");
  return `it is not valid JSON (${printParseErrorCode(error)} in line ${before.length})`;
}

export function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/**
 * Replaces a file atomically, and copies the old one first. Returns the path of the copy, if
 * there was an old file.
 */
export function replaceFile(path: string, text: string, now: Date): string | undefined {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeWhole(path, text);
    return undefined;
  }
  // Follow a symbolic link: replace the file that it points to, not the link.
  const file = realpathSync(path);
  const backup = `${file}.${now.toISOString().replaceAll(/[:.]/g, "-")}.bak`;
  copyFileSync(file, backup);
  writeWhole(file, text, statSync(file).mode);
  return backup;
}

function writeWhole(file: string, text: string, mode?: number): void {
  const whole = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(whole, text);
    if (mode !== undefined) chmodSync(whole, mode);
    renameSync(whole, file);
  } finally {
    rmSync(whole, { force: true });
  }
}
