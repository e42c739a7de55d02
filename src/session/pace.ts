/**
 * Keeps a run at the pace of those who read its log.
 *
 * What a run tells (progress, log messages) may come faster than it is read. Instead
 * of dropping events, or keeping all of them, the run waits before it tells more.
 *
 * A1  A reader that keeps up gets every event: a run that is half a log ahead of it waits.
 * A2  A reader that takes nothing for `KEEP_UP_TIME` while a run waits does not keep up.
 *     No run waits for it until it takes something, and it is told how much it missed.
 * A3  Nothing waits where nobody reads. A run whose first reader is still to come waits
 *     for it like for any other.
 * A4  What is to be recorded waits for its journal, however long that takes.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";

/** Milliseconds for which a run waits for a reader that takes nothing. */
export const KEEP_UP_TIME = 5_000;

/** Somebody who reads a log, and how far. The log changes it. */
export class LogReader {
  readonly #log: { taken(reader: LogReader, lsn: number): void; detach(reader: LogReader): void };
  lsn: number;
  /** Bytes, roughly, of everything that it has taken. */
  bytes: number;
  /** It does not keep up: no run waits for it. */
  isBehind = false;

  constructor(
    log: { taken(reader: LogReader, lsn: number): void; detach(reader: LogReader): void },
    lsn: number,
    bytes: number,
  ) {
    this.#log = log;
    this.lsn = lsn;
    this.bytes = bytes;
  }

  /** It has taken everything up to an LSN. */
  taken(lsn: number): void {
    if (lsn !== this.lsn) this.#log.taken(this, lsn);
  }

  /** It reads no more. */
  detach(): void {
    this.#log.detach(this);
  }
}

/** Those who wait until their log has room. */
export class Pace {
  readonly #log: { readonly isFull: boolean; giveUpReaders(): void };
  readonly #deadlines: Deadlines;
  /** The longest waiting first. */
  readonly #waiting = new Set<() => void>();
  #patience: Deadline | undefined;
  #isLooking = false;

  constructor(
    log: { readonly isFull: boolean; giveUpReaders(): void },
    deadlines: Deadlines,
  ) {
    this.#log = log;
    this.#deadlines = deadlines;
  }

  /** Calls `go` when there may be room; the function that comes back calls that off. */
  wait(go: () => void): () => void {
    const waiter = () => go();
    this.#waiting.add(waiter);
    this.#bePatient();
    return () => {
      this.#waiting.delete(waiter);
      this.#bePatient();
    };
  }

  /** A reader has taken something, so that it has time again. */
  renew(): void {
    this.#patience?.cancel();
    this.#patience = undefined;
    this.changed();
  }

  /** Something was recorded, or a reader came or left. */
  changed(): void {
    if (this.#waiting.size === 0 || this.#isLooking) return;
    this.#isLooking = true;
    // A turn later: whoever reads is not done yet with what it took.
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
    this.#bePatient();
  }

  /** There is a deadline for the readers as long as somebody waits for them. */
  #bePatient(): void {
    if (this.#waiting.size > 0) {
      this.#patience ??= this.#deadlines.add<Pace>(KEEP_UP_TIME, giveUp, this);
    } else {
      this.#patience?.cancel();
      this.#patience = undefined;
    }
  }

  /** For its deadline: the readers had time enough. */
  giveUp(): void {
    this.#patience = undefined;
    this.#log.giveUpReaders();
    this.#look();
  }
}

const giveUp = (pace: Pace) => pace.giveUp();
