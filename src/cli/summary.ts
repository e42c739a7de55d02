/** A line for each thing that is served. */
import type { Style } from "./terminal/style.ts";
import type { Announced } from "./environment.ts";

const LONGEST_NAME = 24;

export function summaryLines(
  announced: readonly Announced[],
  style: Style,
  columns: number,
): string[] {
  const names = announced.map(nameOf);
  const width = Math.min(LONGEST_NAME, Math.max(0, ...names.map((name) => name.length)));
  return announced.map(({ description = "" }, index) => {
    const name = names[index]!;
    const text = firstLine(description);
    const room = Math.max(10, columns - Math.max(width, name.length) - 4);
    return `  ${style.bold(name.padEnd(width))}  ${shortened(text, room)}`.trimEnd();
  });
}

function nameOf({ kind, name }: Announced): string {
  return kind === "tool" ? name : `${name} (${kind})`;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]!;
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}
