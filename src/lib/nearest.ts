/** Finds the name that somebody probably meant, for messages about unknown names. */

/** The name most similar to a word. Undefined if none is similar. Case does not count. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const given = word.toLowerCase();
  let best: string | undefined;
  // A typo changes a few characters. A name that differs more is another word.
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const edits = distance(given, name.toLowerCase(), least);
    if (edits < least) [best, least] = [name, edits];
  }
  return best;
}

/**
 * The number of characters to insert, delete, replace or swap with a neighbour. Words whose lengths
 * differ by `limit` or more are not compared.
 */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let [older, old]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      row[j] = Math.min(row[j - 1]! + 1, old![j]! + 1, old![j - 1]! + (same ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) row[j] = Math.min(row[j]!, older![j - 2]! + 1);
    }
    [older, old] = [old!, row];
  }
  return old![b.length]!;
}
