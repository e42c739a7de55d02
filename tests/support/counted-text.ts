/** Measures work without a clock: a text that counts how many of its characters are looked at. */

export interface CountedText {
  /** Pass this where a string is expected. */
  readonly text: string;
  /** How many characters were looked at so far, counting repeated looks. */
  readonly looks: number;
}

export function countedText(content: string): CountedText {
  let looks = 0;
  const counted = {
    length: content.length,
    charCodeAt(at: number): number {
      looks++;
      return content.charCodeAt(at);
    },
    indexOf(part: string, from = 0): number {
      const found = content.indexOf(part, from);
      looks += (found < 0 ? content.length : found + part.length) - from;
      return found;
    },
    slice(start: number, end: number): string {
      looks += end - start;
      return content.slice(start, end);
    },
    trim(): string {
      looks += content.length;
      return content.trim();
    },
    matchAll(pattern: RegExp): Iterable<RegExpExecArray> {
      looks += content.length;
      return content.matchAll(pattern);
    },
  };
  const text = new Proxy(counted, {
    get(target, name) {
      if (typeof name === "string" && /^\d/.test(name)) {
        looks++;
        return content[Number(name)];
      }
      if (name in target) return target[name as keyof typeof target];
      throw new Error(`Cannot count looks through "${String(name)}": add it to counted-text.ts`);
    },
  });
  return {
    text: text as unknown as string,
    get looks() {
      return looks;
    },
  };
}
