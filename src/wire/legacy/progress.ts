/**
 * How far a call has come, as its client is told.
 *
 * Progress must grow with every notification, whatever the tool says; and a
 * client that resumes must hear the same numbers as the first time.
 */

/** The least step that shows up. */
const LEAST = 0.001;
/** Raised numbers that are remembered; more events than that are hardly ever kept. */
const MOST_RAISED = 10_000;

export class ProgressTrack {
  #last = -Infinity;
  #lastLSN = 0;
  /** What was told instead of what the tool said, by LSN. */
  #raised: Map<number, number> | undefined;

  /** The progress to tell for an event. */
  of(lsn: number, said: number): number {
    if (lsn <= this.#lastLSN) return this.#raised?.get(lsn) ?? said;
    this.#lastLSN = lsn;
    if (Number.isFinite(said) && said > this.#last) return this.#last = said;
    const raised = this.#raised ??= new Map();
    if (raised.size >= MOST_RAISED) raised.delete(raised.keys().next().value!);
    raised.set(lsn, this.beat());
    return this.#last;
  }

  /** The progress of a mere sign of life. */
  beat(): number {
    return this.#last = above(this.#last);
  }
}

function above(progress: number): number {
  if (progress === -Infinity) return 0;
  // Beyond some size a thousandth no longer makes a number greater.
  const step = Math.max(LEAST, Math.abs(progress) * (2 * Number.EPSILON));
  return Math.min(progress + step, Number.MAX_VALUE);
}
