/**
 * Resumes stored sessions that are due without a request: sessions that were running when their
 * server crashed, and sessions that left memory while they slept.
 *
 * WAKE-1  All sessions share one loop with one timer, which is set for the earliest session. The
 *         loop ends when no session is expected, and starts again when one is.
 * WAKE-2  A session in memory wakes by itself. The loop resumes only sessions that are not in memory.
 * WAKE-3  A session that cannot be resumed does not delay the others. The loop retries it a few times.
 */
import { action, type Operation, until } from "effection";
import { LazyLoop } from "../lib/lazy-loop.ts";
import type { Wake } from "../store/types.ts";
import type { RegistryParts } from "./parts.ts";

/** The maximum number of sessions that are resumed concurrently. */
const PAGE = 64;
/**
 * The number of milliseconds until the next attempt, if a limit was reached or the store failed.
 */
const RETRY_AFTER = 1_000;
/** The maximum number of attempts to resume a session. The delay doubles after each attempt. */
const MAX_TRIES = 8;

export class Waker {
  readonly #parts: Pick<RegistryParts, "scope" | "deadlines" | "store" | "live" | "report">;
  /** Resumes one session. */
  readonly #wake: (id: string) => Promise<void>;
  /** When to look at the store next. Undefined if no session is expected. */
  #next: number | undefined;
  /** Wakes the loop while it sleeps, because a session is expected sooner. */
  #sooner: (() => void) | undefined;
  readonly #loop: LazyLoop;
  #waking: Promise<unknown> | undefined;
  /**
   * The position in the store's list of sessions. All sessions before it have been resumed, or are
   * in memory.
   */
  #after: Wake | undefined;
  /** True if the next look must start at the beginning of the list. */
  #fromStart = false;
  /** Sessions that could not be resumed, and the time of their next attempt. */
  readonly #failed = new Map<string, Retry>();

  constructor(
    parts: Pick<RegistryParts, "scope" | "deadlines" | "store" | "live" | "report">,
    wake: (id: string) => Promise<void>,
  ) {
    this.#parts = parts;
    this.#wake = wake;
    this.#loop = new LazyLoop(parts.scope, () => this.#run());
  }

  /** Looks now for all sessions that are due, including those whose tool was not found before. */
  look(): void {
    this.#fromStart = true;
    this.expect(this.#parts.deadlines.now());
  }

  /** Schedules a look at the store for a session that is due at `wakeAt` (WAKE-1). */
  expect(wakeAt: number): void {
    if (this.#next !== undefined && this.#next <= wakeAt) return;
    this.#next = wakeAt;
    this.#sooner?.();
    this.#loop.start();
  }

  /** Stops the loop. Resolves when no session is being resumed. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#waking;
  }

  *#run(): Operation<void> {
    const { deadlines } = this.#parts;
    while (this.#next !== undefined) {
      yield* this.#untilNext();
      this.#next = undefined;
      try {
        const next = yield* this.#wakeDue();
        if (next !== undefined) this.expect(next);
      } catch (error) {
        this.#report(error);
        this.expect(deadlines.now() + RETRY_AFTER);
      }
      for (const { at } of this.#failed.values()) this.expect(at);
    }
  }

  *#untilNext(): Operation<void> {
    const { deadlines } = this.#parts;
    for (let ms = this.#next! - deadlines.now(); ms > 0; ms = this.#next! - deadlines.now()) {
      yield* action<void>((resolve) => {
        const deadline = deadlines.add(ms, resolve);
        this.#sooner = resolve;
        return () => {
          deadline.cancel();
          this.#sooner = undefined;
        };
      });
    }
  }

  /**
   * Resumes all sessions that are due. Returns the time at which the next session is due, if there
   * is one.
   */
  *#wakeDue(): Operation<number | undefined> {
    const { deadlines, live, store } = this.#parts;
    yield* this.#retryFailed();
    if (this.#fromStart) this.#after = undefined;
    this.#fromStart = false;
    for (;;) {
      const now = deadlines.now();
      if (!live.hasRoom) return now + RETRY_AFTER;
      const page = (yield* store.wakes(PAGE, this.#after)).filter((wake) => !isNever(wake));
      const due = page.filter(({ wakeAt }) => wakeAt <= now);
      yield* this.#wakeAll(due.map(({ id }) => id));
      if (due.length === PAGE) {
        this.#after = due.at(-1);
        continue;
      }
      // Start at `now` the next time, because the store may get more sessions with that `wakeAt`.
      this.#after = { wakeAt: now, id: "" };
      return page[due.length]?.wakeAt;
    }
  }

  *#retryFailed(): Operation<void> {
    const now = this.#parts.deadlines.now();
    const due = [...this.#failed].filter(([, { at }]) => at <= now).map(([id]) => id);
    for (let from = 0; from < due.length; from += PAGE) {
      yield* this.#wakeAll(due.slice(from, from + PAGE));
    }
  }

  *#wakeAll(ids: readonly string[]): Operation<void> {
    if (ids.length === 0) return;
    const waking = this.#waking = Promise.all(ids.map((id) =>
      this.#wake(id).then(
        () => this.#failed.delete(id),
        (error) => this.#hasFailed(id, error),
      )
    ));
    yield* until(waking);
  }

  /** Schedules another attempt for a session that could not be resumed (WAKE-3). */
  #hasFailed(id: string, error: unknown): void {
    // A registry that is closing refuses to resume sessions, so do not report the error.
    if (this.#loop.isStopped) return;
    this.#report(error);
    const tries = (this.#failed.get(id)?.tries ?? 0) + 1;
    if (tries === MAX_TRIES) this.#failed.delete(id);
    else {
      const at = this.#parts.deadlines.now() + RETRY_AFTER * 2 ** (tries - 1);
      this.#failed.set(id, { tries, at });
    }
  }

  #report(error: unknown): void {
    const what = "stored calls could not be resumed";
    this.#parts.report({ what, toolName: "-", sessionId: "-", error });
  }
}

interface Retry {
  readonly tries: number;
  /** The time of the next attempt. */
  readonly at: number;
}

/**
 * A `wakeAt` that is never reached. Sessions that are set aside have it, so that `wakes` lists
 * them.
 */
export const NEVER = 8_640_000_000_000_000;

function isNever({ wakeAt }: Wake): boolean {
  return wakeAt >= NEVER;
}
