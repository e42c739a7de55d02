/** What surrounds a session: its registry, its owner and its record. */
import { action, type Operation, type Scope } from "effection";
import type { ServerChange, ToolSessionEvent } from "../model/events.ts";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Linked } from "../lib/linked-list.ts";
import type { Fault, SamplingSetup, Site } from "../run/run-port.ts";
import type { LogLimits } from "./event-log.ts";
import type { Sealer } from "../lib/sealer.ts";
import type { LiveToolSession } from "./tool-session.ts";

/** What a session needs from its registry. The folder order keeps the class itself out of reach. */
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
  /** Brings a session that has left memory back into it. */
  takenUp(id: string): Operation<LiveToolSession | undefined>;
  /** Cancels a session that has left memory. */
  cancelSuspended(id: string, reason: string): Operation<void>;
}

/** Whoever opened a session and wants to hear of its end. */
export interface SessionOwner {
  /** The session has ended, and that is recorded. */
  ended?(session: LiveToolSession): void;
  /** The session has left memory. */
  left?(session: LiveToolSession): void;
  /** The registry has forgotten the session. */
  gone?(session: LiveToolSession): void;
  /** The tool asks to release the client, which comes back for the rest. */
  hangUp?(session: LiveToolSession): void;
}

/** What a record says of a session besides its tool and its caller. */
export interface SessionRecord {
  readonly events: readonly ToolSessionEvent[];
  readonly needsCaller: boolean;
  /** Default: 0, because no client was told to come back. */
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
 * What a registry notes about a session. The notes stand in the session itself, which saves an
 * object for each, but the registry alone writes them.
 */
export interface RegistryNotes extends Linked<LiveToolSession> {
  /** The registry lists the session. A call that ends in its first step is never listed. */
  registered: boolean;
  /** How many streams and requests look at the session. */
  holders: number;
  /** When the registry drops the session, if nothing happens before. */
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

/** The session in memory. A session that has left memory is brought back. */
export function* locate(session: LiveToolSession, home: SessionHome): Operation<LiveToolSession> {
  if (!session.suspending) return session;
  return (yield* home.takenUp(session.id)) ?? session;
}

/** The same, but waits until a question that is open on record can be answered. */
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
