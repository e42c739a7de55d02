/** Judges a server by the figures that it reported under load, and after. */

export interface Standing {
  /** Kilobytes of live heap. */
  readonly heap: number;
  readonly faults: number;
  readonly live: number;
  readonly finished: number;
  readonly streams: number;
  readonly clientSessions: number;
}

/** Kilobytes that the heap may grow by, from the second third of the time to the last. */
const MAX_GROWTH = 1_024;
/** Fewer figures than this say nothing. */
const LEAST = 6;

export function atRest(standing: Standing | undefined): boolean {
  if (!standing) return false;
  const { live, finished, streams, clientSessions } = standing;
  return live === 0 && finished === 0 && streams === 0 && clientSessions === 0;
}

/** What is wrong, and by how many kilobytes the heap has grown. */
export function judge(
  during: readonly Standing[],
  last: Standing | undefined,
): { readonly growth: number; readonly found: string[] } {
  if (!last || during.length < LEAST) {
    return { growth: NaN, found: ["the server told too little of itself to be judged"] };
  }
  const found: string[] = [];
  if (last.faults > 0) found.push(`the server reported ${last.faults} faults`);
  if (!atRest(last)) found.push(`something is left: ${JSON.stringify(last)}`);
  // The first third fills caches.
  const third = Math.floor(during.length / 3);
  const growth = middle(during.slice(-third)) - middle(during.slice(third, 2 * third));
  if (growth > MAX_GROWTH) found.push(`the live heap has grown by ${Math.round(growth)} KB`);
  return { growth, found };
}

/** The median heap size: a single one depends on what is under way. */
function middle(standings: readonly Standing[]): number {
  return standings.map(({ heap }) => heap).sort((a, b) => a - b)[standings.length >> 1]!;
}
