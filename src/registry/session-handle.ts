/**
 * The handle of a session, which programs use as `ToolSession`. A durable session may leave memory
 * and continue as another object. The handle finds that object, and resumes the session if
 * necessary.
 */
import { action, ensure, type Operation, type Stream, type Subscription, until } from "effection";
import type {
  AnswerOutcome,
  AnswerVia,
  ClientAnswer,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionStatus,
} from "../model/events.ts";
import type { LogReader } from "../session/pace.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSession } from "../session/types.ts";

/** The part of the registry that a handle uses. */
export interface Sessions {
  /** Finds a session in memory. */
  find(id: string): LiveToolSession | undefined;
  /** Finds a session, and resumes it if it has left memory. */
  lookup(id: string): LiveToolSession | undefined | Promise<LiveToolSession | undefined>;
}

export class SessionHandle implements ToolSession {
  readonly #sessions: Sessions;
  readonly #session: LiveToolSession;

  constructor(sessions: Sessions, session: LiveToolSession) {
    this.#sessions = sessions;
    this.#session = session;
  }

  get id(): string {
    return this.#session.id;
  }

  get toolName(): string {
    return this.#session.toolName;
  }

  *status(): Operation<ToolSessionStatus> {
    const session = this.#session;
    const here = session.suspending ? this.#sessions.find(session.id) : undefined;
    return (here ?? session).currentStatus();
  }

  getEvents(afterLSN = 0): Stream<ToolSessionEvent, ToolSessionOutcome> {
    const locate = () => this.#locate();
    return {
      *[Symbol.iterator]() {
        const session = yield* locate();
        const place = session.log.attach(afterLSN);
        yield* ensure(() => session.log.detach(place));
        return new Reader(session, place);
      },
    };
  }

  *respondToElicit(
    id: string,
    response: ClientAnswer,
    via?: AnswerVia,
  ): Operation<AnswerOutcome> {
    return (yield* this.#locateAsking(id)).respond(id, response, via);
  }

  *respondToSample(id: string, response: ClientAnswer): Operation<AnswerOutcome> {
    return (yield* this.#locateAsking(id)).respond(id, response);
  }

  *cancel(reason?: string): Operation<void> {
    const session = yield* this.#locate();
    // If the session is still suspending, its record is gone, and nothing is left to cancel.
    if (!session.suspending) yield* session.cancel(reason);
  }

  /** Returns the current object of the session. If the session has left memory, resumes it. */
  *#locate(): Operation<LiveToolSession> {
    const session = this.#session;
    if (!session.suspending) return session;
    const found = this.#sessions.lookup(session.id);
    return (found instanceof Promise ? yield* until(found) : found) ?? session;
  }

  /**
   * Like `#locate`, but also waits until the question can be answered: a resumed session may not
   * have asked it again yet.
   */
  *#locateAsking(requestId: string): Operation<LiveToolSession> {
    const found = yield* this.#locate();
    if (found === this.#session) return found;
    const named = ({ id }: { readonly id: string }) => id === requestId;
    while (
      !found.outcome && !found.suspending && found.log.unanswered().some(named) &&
      !found.openRequests().some(named)
    ) yield* action<void>((resolve) => found.log.watch(resolve));
    return found;
  }
}

/** Reads the events of a session: the existing ones, then new ones, then the outcome. */
class Reader implements Subscription<ToolSessionEvent, ToolSessionOutcome> {
  readonly #session: LiveToolSession;
  readonly #place: LogReader;

  constructor(session: LiveToolSession, place: LogReader) {
    this.#session = session;
    this.#place = place;
  }

  *next(): Operation<IteratorResult<ToolSessionEvent, ToolSessionOutcome>> {
    const { log } = this.#session;
    for (;;) {
      const event = log.next(this.#place.lsn);
      if (event) {
        log.taken(this.#place, event.lsn);
        return { done: false, value: event };
      }
      const { outcome } = this.#session;
      if (outcome) {
        this.#session.markDelivered();
        return { done: true, value: outcome };
      }
      yield* action<void>((resolve) => log.watch(resolve));
    }
  }
}
