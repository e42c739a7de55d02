/**
 * Runs sessions whose time has come although nobody asks for them: those that were
 * at work when their server died, and those that left memory to sleep.
 *
 * W1  One timer for all of them, set for the earliest; nothing is kept for each.
 * W2  A session that is in memory looks after itself: only those that are not are run.
 * W3  One that cannot be run keeps no other from it. It is tried again a few times.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Wake } from "../store/types.ts";

/** How many are taken up at once. */
const PAGE = 64;
/** Until it is tried again, where there was no room, or the store failed. */
const RETRY_DELAY = 1_000;
/** How often one is tried that cannot be taken up; each time after twice as long. */
const MOST_TRIES = 8;

export interface WakerHome {
  readonly deadlines: Deadlines;
  hasRoom(): boolean;
  /** Those with a time to wake, the earliest first. */
  wakes(limit: number, after: Wake | undefined): Promise<readonly Wake[]>;
  /** Takes a session up, unless it is in memory. */
  wake(id: string): Promise<void>;
  failed(error: unknown): void;
}

export class Waker {
  readonly #home: WakerHome;
  /** All that stand before it have been run, or are in memory. */
  #after: Wake | undefined;
  #deadline: Deadline | undefined;
  #round: Promise<void> | undefined;
  /** Something has become due during a round, which may have looked for it too early. */
  #again = false;
  /** Those that could not be taken up, and how often that was tried. */
  readonly #failed = new Map<string, Retry>();
  #stopped = false;

  constructor(home: WakerHome) {
    this.#home = home;
  }

  /** A session that has left memory is to be run at that time. */
  expect(wakeAt: number): void {
    if (this.#stopped || (this.#deadline && this.#deadline.at <= wakeAt)) return;
    this.#deadline?.cancel();
    const { deadlines } = this.#home;
    this.#deadline = deadlines.add(Math.max(0, wakeAt - deadlines.now()), () => {
      this.#deadline = undefined;
      this.look();
    });
  }

  /** Runs everything that is due, and sets the timer for what follows. */
  look(): void {
    if (this.#stopped) return;
    if (this.#round) {
      this.#again = true;
      return;
    }
    this.#round = this.#wakeDue()
      .catch((error) => {
        this.#home.failed(error);
        return this.#home.deadlines.now() + RETRY_DELAY;
      })
      .then((next) => {
        this.#round = undefined;
        if (next !== undefined) this.expect(next);
        for (const { at } of this.#failed.values()) this.expect(at);
        if (!this.#again) return;
        this.#again = false;
        this.look();
      });
  }

  /** Resolves once nothing is being taken up any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deadline?.cancel();
    await this.#round;
  }

  /** When to look again, if there is anything to look for. */
  async #wakeDue(): Promise<number | undefined> {
    const home = this.#home;
    await this.#wakeFailed();
    while (!this.#stopped) {
      const now = home.deadlines.now();
      if (!home.hasRoom()) return now + RETRY_DELAY;
      const page = await home.wakes(PAGE, this.#after);
      const due = page.filter(({ wakeAt }) => wakeAt <= now);
      await this.#wakeAll(due.map(({ id }) => id));
      if (due.length === PAGE) {
        this.#after = due.at(-1);
        continue;
      }
      // Not after the last one of them: another may be told to wake at the same time.
      this.#after = { wakeAt: now, id: "" };
      return page[due.length]?.wakeAt;
    }
    return undefined;
  }

  async #wakeFailed(): Promise<void> {
    const now = this.#home.deadlines.now();
    const due = [...this.#failed].filter(([, { at }]) => at <= now).map(([id]) => id);
    for (let from = 0; from < due.length && !this.#stopped; from += PAGE) {
      await this.#wakeAll(due.slice(from, from + PAGE));
    }
  }

  async #wakeAll(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) =>
      this.#home.wake(id).then(
        () => this.#failed.delete(id),
        (error) => this.#hasFailed(id, error),
      )
    ));
  }

  #hasFailed(id: string, error: unknown): void {
    // Whoever stops it has no use for what was under way.
    if (this.#stopped) return;
    this.#home.failed(error);
    const tries = (this.#failed.get(id)?.tries ?? 0) + 1;
    if (tries === MOST_TRIES) this.#failed.delete(id);
    else {
      const at = this.#home.deadlines.now() + RETRY_DELAY * 2 ** (tries - 1);
      this.#failed.set(id, { tries, at });
    }
  }
}

interface Retry {
  readonly tries: number;
  /** When it is tried next. */
  readonly at: number;
}
