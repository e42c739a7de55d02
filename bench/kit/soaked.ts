/** Evaluates the figures that a server reported during and after a load. */

export interface Standing {
  /** Kilobytes of live heap. */
  readonly heap: number;
  readonly faults: number;
  readonly live: number;
  readonly finished: number;
  readonly streams: number;
  readonly clientSessions: number;
}

/** Kilobytes by which the heap may grow between the second and the last third of the time. */
const MAX_GROWTH = 1_024;
/** Minimum number of figures for an evaluation. */
const LEAST = 6;

export function atRest(standing: Standing | undefined): boolean {
  if (!standing) return false;
  const { live, finished, streams, clientSessions } = standing;
  return live === 0 && finished === 0 && streams === 0 && clientSessions === 0;
}

/** Returns the problems found, and the growth of the heap in kilobytes. */
export function judge(
  during: readonly Standing[],
  last: Standing | undefined,
): { readonly growth: number; readonly found: string[] } {
  if (!last || during.length < LEAST) {
    return { growth: NaN, found: ["the server reported too few figures for an evaluation"] };
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

/** The median heap size. A single size depends on the calls that are running at that moment. */
function middle(standings: readonly Standing[]): number {
  return standings.map(({ heap }) => heap).sort((a, b) => a - b)[standings.length >> 1]!;
}
