/** One reader of a session's events, at its own pace. */
import { action, ensure, type Operation, type Stream, type Subscription } from "effection";
import type { ToolSessionEvent, ToolSessionOutcome } from "../model/events.ts";
import type { EventLog } from "./event-log.ts";
import type { LogReader } from "./pace.ts";

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
      const session = yield* find();
      const place = session.log.attach(afterLSN);
      yield* ensure(() => place.detach());
      return new Reader(session, place);
    },
  };
}

class Reader implements Subscription<ToolSessionEvent, ToolSessionOutcome> {
  constructor(
    readonly session: Readable,
    readonly place: LogReader,
  ) {}

  *next(): Operation<IteratorResult<ToolSessionEvent, ToolSessionOutcome>> {
    const { log } = this.session;
    for (;;) {
      const event = log.next(this.place.lsn);
      if (event) {
        this.place.taken(event.lsn);
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
