/** What is to be known of a session, besides what it is doing. */
import type { ClientInfo, TraceContext } from "../model/events.ts";
import type { Deadline } from "../lib/deadlines.ts";
import type { Definition } from "../tool/types.ts";
import type { Linked, LinkedList } from "../lib/linked-list.ts";
import { EventLog, type LogLimits } from "./event-log.ts";
import type { Replay } from "./replay.ts";
import { newSessionId } from "./session-id.ts";
import type { SessionOwner } from "./session-home.ts";
import type { LiveToolSession } from "./tool-session.ts";

/** An attempt to go on with a session, until it is known to have survived. */
export interface Trial {
  /** How many attempts before this one did not. */
  readonly failed: number;
  readonly deadline: Deadline;
  /** Ends its turn, where it runs in isolation. */
  readonly over?: () => void;
}

const NO_TRACE: TraceContext = {};

export abstract class SessionState implements Linked<LiveToolSession> {
  #id: string | undefined;
  readonly tool: Definition;
  /** As it described itself last; one without sessions does so with every request. */
  client: ClientInfo;
  /** Where the caller stands in a trace of its own. */
  trace: TraceContext = NO_TRACE;
  readonly log: EventLog;
  /** On whose behalf it runs. */
  readonly principal: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When something last changed: a question, an answer, the end. */
  updatedAt: number;
  /** Until when it is kept after its end at least, because somebody was told so. */
  keepUntil = 0;
  /** Since when it is a task, if it is one. Milliseconds since the epoch. */
  taskSince: number | undefined;
  /** Bytes of what came with the call, roughly; see `Budget`. */
  baggage = 0;
  /** Bytes that count as its caller's in memory. */
  charged = 0;
  /** Bytes that count as its caller's in the store. */
  stored = 0;
  /** How many streams and requests look at this session; the registry counts. */
  holders = 0;
  /** When the registry lets go of it, if nothing happens before. */
  expiry: Deadline | undefined;
  owner: SessionOwner | undefined;
  /** The registry knows it; not so one that has ended within its first step. */
  registered = false;
  halting = false;
  suspending = false;
  /** Why its record is not ours to write any more, once that is so. */
  lost: string | undefined;
  /** It runs only while somebody waits for it, as requests of the modern era do. */
  needsCaller = false;
  /** Its record travels with its client, and is kept nowhere else. */
  portable = false;
  /** What random values in it follow from, where its record travels. */
  seed: string | undefined;
  /**
   * Only this server can go on with it: its record has grown too large to travel, or
   * nobody could come back to it.
   */
  notPortable = false;
  parallel = 0;
  /** How it ended has been told to whoever waited for that. */
  outcomeDelivered = false;
  /** True if it can be run again from its log. */
  readonly durable: boolean;
  replay: Replay | undefined;
  /** The epoch of its record at which it was last known to be alive. */
  settled = 1;
  /** It was taken up, and is not known to survive that. */
  trial: Trial | undefined;
  // Where it stands among those that have ended, and since when.
  leftAt = 0;
  line: LinkedList<LiveToolSession> | undefined;
  prev: LiveToolSession | undefined;
  next: LiveToolSession | undefined;

  constructor(
    limits: LogLimits,
    id: string | undefined,
    tool: Definition,
    client: ClientInfo,
    principal: string,
    createdAt: number,
  ) {
    this.#id = id;
    this.tool = tool;
    this.client = client;
    this.principal = principal;
    this.createdAt = this.updatedAt = createdAt;
    this.durable = tool.durable !== undefined;
    this.log = new EventLog(this, limits);
  }

  /** Made when it is first needed: most calls do without. */
  get id(): string {
    return this.#id ??= newSessionId();
  }

  get toolName(): string {
    return this.tool.name;
  }

  /** True if it may leave memory, because it can be run again from its record. */
  get replayable(): boolean {
    return this.durable && !this.notPortable;
  }
}
