/** One reader of a session's events, at its own pace. */
import { action, type Operation, type Stream, type Subscription } from "effection";
import type { ToolSessionEvent, ToolSessionOutcome } from "../events.ts";
import type { EventLog } from "./event-log.ts";

interface Readable {
  readonly log: EventLog;
  readonly outcome: ToolSessionOutcome | undefined;
  /** How it ended has been told. */
  told: boolean;
}

/** The events after an LSN: those that were, then those that come, then how it ended. */
export function readEvents(
  find: () => Operation<Readable>,
  afterLSN: number,
): Stream<ToolSessionEvent, ToolSessionOutcome> {
  return {
    *[Symbol.iterator]() {
      return new Reader(yield* find(), afterLSN);
    },
  };
}

class Reader implements Subscription<ToolSessionEvent, ToolSessionOutcome> {
  constructor(
    readonly session: Readable,
    private cursor: number,
  ) {}

  *next(): Operation<IteratorResult<ToolSessionEvent, ToolSessionOutcome>> {
    const { log } = this.session;
    for (;;) {
      const event = log.next(this.cursor);
      if (event) {
        this.cursor = event.lsn;
        return { done: false, value: event };
      }
      const { outcome } = this.session;
      if (outcome) {
        this.session.told = true;
        return { done: true, value: outcome };
      }
      yield* action<void>((resolve) => log.watch(resolve));
    }
  }
}
