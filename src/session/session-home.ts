/** The interfaces between a session and its registry, its owner and its record. */
import { action, type Operation, type Scope } from "effection";
import type { ServerChange, ToolSessionEvent } from "../model/events.ts";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Linked } from "../lib/linked-list.ts";
import type { Fault, SamplingSetup, Site } from "../run/run-port.ts";
import type { LogLimits } from "./event-log.ts";
import type { Sealer } from "../lib/sealer.ts";
import type { LiveToolSession } from "./tool-session.ts";

/** The part of the registry that a session uses. `session/` may not import the registry itself. */
export interface SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  readonly site: Site;
  announce(change: ServerChange): void;
  report(fault: Fault): void;
  /** The session began or stopped waiting, or ended. */
  changed(session: LiveToolSession): void;
  /** The session is about to leave memory. */
  suspending(session: LiveToolSession): void;
  /** The session has left memory, and can be run again from its log. */
  suspended(session: LiveToolSession): void;
  /** Finds a session, and resumes it if it has left memory. */
  takenUp(id: string): Operation<LiveToolSession | undefined>;
  /** Cancels a session that has left memory. */
  cancelSuspended(id: string, reason: string): Operation<void>;
}

/** The callbacks of the code that opened a session. */
export interface SessionOwner {
  /** The session has ended, and its final event is recorded. */
  ended?(session: LiveToolSession): void;
  /** The session has left memory. */
  left?(session: LiveToolSession): void;
  /** The registry has removed the session. */
  gone?(session: LiveToolSession): void;
  /** The tool asks to close the connection. The client reconnects for the remaining events. */
  hangUp?(session: LiveToolSession): void;
}

/** The stored state of a session, without its tool and its caller. */
export interface SessionRecord {
  readonly events: readonly ToolSessionEvent[];
  readonly needsCaller: boolean;
  /** Default: 0, for a session that is promised to no client. */
  readonly keepUntil?: number;
  readonly taskSince?: number | undefined;
  /** The epoch at which the session was last known to be alive. Default: 1. */
  readonly settled?: number;
  /** Default: false. */
  readonly portable?: boolean;
  readonly seed?: string | undefined;
}

/** An attempt to run a session again, until the session is known to have survived. */
export interface Trial {
  /** How many earlier attempts failed. */
  readonly failed: number;
  readonly deadline: Deadline;
  /** Ends the turn of the attempt, if it runs in isolation. */
  readonly over?: () => void;
}

/**
 * The registry's data about a session. The fields are part of the session object, to save memory,
 * but only the registry writes them.
 */
export interface RegistryNotes extends Linked<LiveToolSession> {
  /** The registry lists the session. A call that ends in its first step is never listed. */
  registered: boolean;
  /** The number of streams and requests that use the session. */
  holders: number;
  /** The deadline at which the session expires. */
  expiry: Deadline | undefined;
  /** Roughly how many bytes came with the call; see `Budget`. */
  baggage: number;
  /** Bytes of memory that count as the caller's. */
  charged: number;
  /** Bytes of the store that count as the caller's. */
  stored: number;
  /** The epoch of the record at which the session was last known to be alive. */
  settled: number;
  /** The attempt to run the session again, until it is known to have survived. */
  trial: Trial | undefined;
  /** When the last holder left the session after its end. Milliseconds since the epoch. */
  leftAt: number;
}

/** A session as the registry sees it. */
export type RegisteredSession = LiveToolSession & RegistryNotes;

/** Returns the session in memory. Resumes a session that has left memory. */
export function* locate(session: LiveToolSession, home: SessionHome): Operation<LiveToolSession> {
  if (!session.suspending) return session;
  return (yield* home.takenUp(session.id)) ?? session;
}

/** Like `locate`, but waits until a question that is open in the record can be answered. */
export function* locateAsking(
  requestId: string,
  session: LiveToolSession,
  home: SessionHome,
): Operation<LiveToolSession> {
  const found = yield* locate(session, home);
  if (found === session) return session;
  const named = ({ id }: { readonly id: string }) => id === requestId;
  while (
    !found.outcome && !found.suspending && found.log.unanswered().some(named) &&
    !found.openRequests().some(named)
  ) yield* action<void>((resolve) => found.log.watch(resolve));
  return found;
}
