/**
 * The rules of the house that source text can show. Each takes sources as data
 * and answers complaints; none means that the rule holds.
 */
import { posix } from "node:path";
import { importsOf, tokens, usesGlobal } from "./tokens.ts";

export interface Source {
  /** Relative to the repository. */
  path: string;
  text: string;
}

/** Calls go down this list. No file imports from a folder above its own, types included. */
export const ranks: readonly string[] = [
  "cli",
  "parley",
  "host",
  "handler",
  "protocol",
  "session",
  "runtime",
  "tool",
  "backchannel",
  "sampling",
  "schema",
  "store",
];

/** The words all layers share. They import each other and nothing else. */
const words = ["src/events.ts", "src/content.ts", "src/errors.ts"];
/** They may import anything; nobody imports them, but for the executable the surface. */
const tops = ["src/mod.ts", "src/main.ts", "src/shipped.ts"];
/** The test kit stands beside the handler: it sees the session and below, no layer sees it. */
const kit = "testing";

export function importComplaints(sources: readonly Source[], packageName: string): string[] {
  return sources.flatMap(({ path, text }) =>
    importsOf(text)
      .map((specifier) => target(path, specifier, packageName))
      .flatMap((imported) => {
        const reason = forbidden(path, imported);
        return reason ? [`${path} -> ${imported}: ${reason}`] : [];
      })
      .concat(place(path) === undefined ? [`${path}: has no place in the order of layers`] : [])
  );
}

function forbidden(path: string, imported: string): string | undefined {
  const here = place(path);
  if (here === "top") {
    return imported === "src/main.ts" ? "nobody imports the executable" : undefined;
  }
  if (here === "protocol" && /^effection(?:\/|$)/.test(imported)) return "protocol/ is pure";
  if (here === "word") return words.includes(imported) ? undefined : "words import only each other";
  if (!imported.startsWith("src/")) {
    return imported.startsWith(".") || /^(?:tools|tests|bench)\//.test(imported)
      ? "src/ stands alone"
      : undefined;
  }
  const there = place(imported);
  if (there === "word" || here === there) return undefined;
  // The command line serves what everybody else serves.
  if (here === "cli" && imported === "src/parley.ts") return undefined;
  if (there === "top") return "nobody imports the surface or the executable";
  if (there === kit) return "no layer imports the test kit";
  if (here === undefined || there === undefined) return "has no place in the order of layers";
  const from = here === kit ? ranks.indexOf("session") : ranks.indexOf(here);
  return ranks.indexOf(there) < from ? "upward" : undefined;
}

/** The layer of a file, `word`, `top`, or nothing for a file that no rule knows. */
function place(path: string): string | undefined {
  if (words.includes(path)) return "word";
  if (tops.includes(path)) return "top";
  // A layer of one file: what makes a server of handler and hosts.
  if (path === "src/parley.ts") return "parley";
  const folder = /^src\/([^/]+)\/./.exec(path)?.[1];
  return folder !== undefined && (folder === kit || ranks.includes(folder)) ? folder : undefined;
}

function target(path: string, specifier: string, packageName: string): string {
  if (specifier === packageName) return "src/mod.ts";
  if (!/^\.{1,2}\//.test(specifier)) return specifier;
  return posix.normalize(posix.join(posix.dirname(path), specifier));
}

/** Only these may know which runtime they are on. */
const runtimeAware = /^src\/(?:host\/|store\/|main\.ts$)/;

export function globalComplaints(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    runtimeAware.test(path) ? [] : ["Deno", "Bun"]
      .filter((name) => usesGlobal(text, name))
      .map((name) => `${path}: uses ${name}, which belongs into src/host and src/store`)
  );
}

/** `export *` hides what is public. */
export function starComplaints(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    tokens(text).some((token, index, all) =>
        token.text === "*" && all[index - 1]?.text === "export"
      )
      ? [`${path}: exports by star; name what it exports`]
      : []
  );
}

export function sizeComplaints(sources: readonly Source[], cap: number): string[] {
  return sources
    .map(({ path, text }) => ({ path, lines: lineCount(text) }))
    .filter(({ lines }) => lines > cap)
    .map(({ path, lines }) => `${path}: ${lines} lines, more than ${cap}; split it by purpose`);
}

export function medianLines(sources: readonly Source[]): number {
  const sorted = sources.map(({ text }) => lineCount(text)).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

function lineCount(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}
