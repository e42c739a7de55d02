/** Breaks text into lines of a terminal. */

export function wrapped(text: string, columns: number, indent = ""): string[] {
  const room = Math.max(20, columns - indent.length);
  return text.trim().split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(/\s+/)) {
      if (line && line.length + 1 + word.length > room) {
        lines.push(line);
        line = word;
      } else line = line ? `${line} ${word}` : word;
    }
    return [...lines, line].map((one) => `${indent}${one}`.trimEnd());
  });
}
