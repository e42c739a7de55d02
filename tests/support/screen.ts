/** The screen of a terminal: what a person sees of its output, after cursor movements and scrolling. */
export class Screen {
  readonly #rows: number;
  readonly #columns: number;
  #lines: string[][] = [[]];
  /** The line at the top of the screen. */
  #top = 0;
  #row = 0;
  #column = 0;

  constructor(output: string, { rows, columns }: { rows: number; columns: number }) {
    this.#rows = rows;
    this.#columns = columns;
    // deno-lint-ignore no-control-regex
    for (const [part] of output.matchAll(/\x1b\[[0-9;?]*[a-zA-Z]|[^]/gu)) this.#take(part);
  }

  /** The lines that are visible, from top to bottom. */
  get lines(): string[] {
    return this.#lines.slice(this.#top, this.#top + this.#rows).map((line) =>
      Array.from(line, (cell) => cell ?? " ").join("").trimEnd()
    );
  }

  #take(part: string): void {
    if (part.startsWith("\x1b[")) return this.#control(part.at(-1)!, part.slice(2, -1));
    switch (part) {
      case "\r":
        this.#column = 0;
        return;
      case "\n":
        return this.#newLine();
      default: {
        const width = widthOf(part);
        if (this.#column + width > this.#columns) {
          this.#column = 0;
          this.#newLine();
        }
        const line = this.#lines[this.#row]!;
        line[this.#column] = part;
        if (width === 2) line[this.#column + 1] = "";
        this.#column += width;
      }
    }
  }

  #newLine(): void {
    this.#row++;
    this.#lines[this.#row] ??= [];
    this.#top = Math.max(this.#top, this.#row - this.#rows + 1);
  }

  #control(command: string, parameter: string): void {
    const count = Number.parseInt(parameter) || 1;
    const line = this.#lines[this.#row]!;
    switch (command) {
      case "A":
        this.#row = Math.max(this.#top, this.#row - count);
        return;
      case "B":
        this.#row = Math.min(this.#top + this.#rows - 1, this.#row + count);
        for (let row = 0; row <= this.#row; row++) this.#lines[row] ??= [];
        return;
      case "C":
        this.#column = Math.min(this.#columns - 1, this.#column + count);
        return;
      case "D":
        this.#column = Math.max(0, this.#column - count);
        return;
      case "G":
        this.#column = (Number.parseInt(parameter) || 1) - 1;
        return;
      case "K":
        if (parameter === "2") line.length = 0;
        else line.length = Math.min(line.length, this.#column);
        return;
      case "J":
        line.length = Math.min(line.length, this.#column);
        this.#lines.length = this.#row + 1;
    }
  }
}

/** How many columns a character takes. */
function widthOf(text: string): number {
  const code = text.codePointAt(0)!;
  if (code < 32 || code === 0x200d || code >= 0xfe00 && code <= 0xfe0f) return 0;
  const isWide = code >= 0x1100 && code <= 0x115f || code >= 0x2e80 && code <= 0xa4cf ||
    code >= 0xac00 && code <= 0xd7a3 || code >= 0xff00 && code <= 0xff60 ||
    code >= 0x1f300 && code <= 0x1faff || [0x274c, 0x2b55, 0x2b1c, 0x2705].includes(code);
  return isWide ? 2 : 1;
}
