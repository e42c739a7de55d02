/** The interfaces between a session and its registry, its owner and its record. */
import type { Scope } from "effection";
import type {
  AnswerBody,
  ServerChange,
  ToolSessionEvent,
  ToolSessionRequest,
} from "../model/events.ts";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Linked } from "../lib/linked-list.ts";
import type { Fault, Middleware, SamplingSetup, Site } from "../run/run-port.ts";
import type { LogLimits } from "./event-log.ts";
import type { Sealer } from "../lib/sealer.ts";
import type { LiveToolSession } from "./tool-session.ts";

/** The callbacks of a server for its sessions. */
export interface SessionHooks {
  /** Runs around each call. Default: none. */
  readonly around?: Middleware;
  /** Called with each question that is sent, and again if nobody answers it in time. Default: none. */
  readonly asked?: (
    session: LiveToolSession,
    request: ToolSessionRequest,
    isTimeout: boolean,
  ) => void;
  /** Called with each answer that is accepted, before the tool gets it. Default: none. */
  readonly answered?: (
    session: LiveToolSession,
    request: ToolSessionRequest,
    answer: AnswerBody,
  ) => void;
}

/** The part of the registry that a session uses. `session/` may not import the registry itself. */
export interface SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  /** The server that sessions run for. */
  readonly server: {
    readonly site: Site;
    readonly hooks: SessionHooks;
    announce(change: ServerChange): void;
  };
  report(fault: Fault): void;
  /** Called when the session began to wait, stopped waiting, or ended. */
  changed(session: LiveToolSession): void;
  /** Called when the session is about to leave memory. */
  suspending(session: LiveToolSession): void;
  /** Called when the session has left memory, and can resume from its log. */
  suspended(session: LiveToolSession): void;
}

/** The callbacks of the code that opened a session. */
export interface SessionOwner {
  /** Called when the session has ended, and its final event is recorded. */
  ended?(session: LiveToolSession): void;
  /** Called when the session has left memory. */
  left?(session: LiveToolSession): void;
  /** Called when the registry has removed the session. */
  gone?(session: LiveToolSession): void;
  /**
   * Called when the tool wants to close the connection. The client reconnects for the remaining
   * events.
   */
  hangUp?(session: LiveToolSession): void;
}

/** The stored state of a session, except its tool and its caller. */
export interface SessionRecord {
  readonly events: readonly ToolSessionEvent[];
  readonly needsCaller: boolean;
  /**
   * Until when the session is promised to a client, in milliseconds since the epoch. Default: 0,
   * which means that it is not promised.
   */
  readonly keepUntil?: number;
  readonly taskSince?: number | undefined;
  /** True if the client keeps the record. Default: false. */
  readonly portable?: boolean;
  readonly seed?: string | undefined;
}

/** An attempt to resume a session, which lasts until the session has survived (RECOVERY-2). */
export interface Trial {
  /** The number of earlier attempts that failed. */
  readonly failed: number;
  /**
   * How many times in a row the session worked past its grace period before a crash (RECOVERY-6).
   */
  readonly level: number;
  /** The end of the grace period. */
  readonly deadline: Deadline;
  /** The end of the turn, if that is earlier than the end of the grace period. */
  readonly turn?: Deadline | undefined;
  /** Ends the attempt for `Recovery`, so that the next suspect can resume (RECOVERY-3). */
  readonly over?: () => void;
  /** The level of the next attempt. Defined once the session has worked past its grace period. */
  slow?: number;
  /** True if the events that are being written prove that the session has survived. */
  proven?: boolean;
}

/**
 * The registry's data about a session. The fields are part of the session object, to save memory,
 * but only the registry writes them.
 */
export interface RegistryNotes extends Linked<LiveToolSession> {
  /** True if the registry contains the session. A call that ends in its first step is not added. */
  registered: boolean;
  /** The number of streams and requests that use the session. */
  holders: number;
  /** The deadline at which the session expires. */
  expiry: Deadline | undefined;
  /**
   * The approximate number of bytes that came with the call: arguments and client data. See
   * `Budget`.
   */
  baggage: number;
  /** The bytes of memory that the budget has counted for the caller. */
  charged: number;
  /** The bytes in the store that the budget has counted for the caller. */
  stored: number;
  /** The epoch at which the session last survived (RECOVERY-1). */
  settled: number;
  /** The current attempt to resume the session. Undefined if the session has survived. */
  trial: Trial | undefined;
  /** When the last holder released the ended session, in milliseconds since the epoch. */
  leftAt: number;
}

/** A session as the registry sees it. */
export type RegisteredSession = LiveToolSession & RegistryNotes;
