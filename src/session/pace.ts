/**
 * Backpressure: keeps a run at the pace of the readers of its log.
 *
 * A run may emit progress and log messages faster than they are read. Instead of dropping events,
 * or keeping all of them, the run waits before it emits more.
 *
 * PACE-1  A reader that keeps up gets every event: a run waits when it is half a log ahead of the
 *         reader.
 * PACE-2  A reader that takes nothing for `KEEP_UP_TIME` while a run waits does not keep up. No run
 *         waits for that reader until it takes events again. It learns which events it missed.
 * PACE-3  Without a reader, no run waits. A run also waits for a reader that was announced
 *         (`awaitReader`).
 * PACE-4  A run whose events are recorded waits for the journal, without a timeout.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { EventLog } from "./event-log.ts";

/** The number of milliseconds that a run waits for a reader that takes nothing (PACE-2). */
export const KEEP_UP_TIME = 5_000;

/** The position of one reader in a log. Only the log changes it. */
export interface LogReader {
  readonly log: EventLog;
  lsn: number;
  /** The approximate number of bytes that the reader has taken. */
  bytes: number;
  /** True if the reader does not keep up, so that no run waits for it (PACE-2). */
  isBehind: boolean;
}

/** Holds the runs that wait until their log has room. */
export class Pace {
  readonly #log: { readonly isFull: boolean; giveUpReaders(): void };
  readonly #deadlines: Deadlines;
  /** The waiting runs. The run that has waited longest comes first. */
  readonly #waiting = new Set<() => void>();
  #deadline: Deadline | undefined;
  #isLooking = false;

  constructor(
    log: { readonly isFull: boolean; giveUpReaders(): void },
    deadlines: Deadlines,
  ) {
    this.#log = log;
    this.#deadlines = deadlines;
  }

  /** Calls `go` when there may be room. Returns a function that cancels the wait. */
  wait(go: () => void): () => void {
    const waiter = () => go();
    this.#waiting.add(waiter);
    this.#setDeadline();
    return () => {
      this.#waiting.delete(waiter);
      this.#setDeadline();
    };
  }

  /** Restarts the deadline, because a reader has taken events. */
  renew(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    this.changed();
  }

  /**
   * Called when an event was recorded, or a reader came or left. Checks whether runs can continue.
   */
  changed(): void {
    if (this.#waiting.size === 0 || this.#isLooking) return;
    this.#isLooking = true;
    // Check later: the reader has not finished with the events that it took.
    queueMicrotask(() => {
      this.#isLooking = false;
      this.#look();
    });
  }

  #look(): void {
    for (const go of this.#waiting) {
      if (this.#log.isFull) break;
      this.#waiting.delete(go);
      go();
    }
    this.#setDeadline();
  }

  /** Sets a deadline for the readers while a run waits for them (PACE-2). */
  #setDeadline(): void {
    if (this.#waiting.size > 0) {
      this.#deadline ??= this.#deadlines.add<Pace>(KEEP_UP_TIME, giveUp, this);
    } else {
      this.#deadline?.cancel();
      this.#deadline = undefined;
    }
  }

  /** Called when the deadline of the readers expires (PACE-2). */
  giveUp(): void {
    this.#deadline = undefined;
    this.#log.giveUpReaders();
    this.#look();
  }
}

const giveUp = (pace: Pace) => pace.giveUp();
