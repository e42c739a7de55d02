/** A run of a tool, and the registry that knows all of them. */
import type { Operation, Stream } from "effection";
import type {
  AnswerOutcome,
  ClientAnswer,
  ClientInfo,
  ElicitResponse,
  RequestFailure,
  SampleResponse,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionStatus,
  TraceContext,
} from "../model/events.ts";
import type { Definition, FinalizedMcpTool } from "../tool/types.ts";

/** One run of a tool, from its call to its result. */
export interface ToolSession {
  readonly id: string;
  readonly toolName: string;
  status(): Operation<ToolSessionStatus>;
  /**
   * The events after an LSN: first those that were, then those that come. The
   * stream closes with how the session ended. Each reader goes at its own pace;
   * one that asks for events that are no longer kept gets `EventsGoneError`.
   */
  getEvents(afterLSN?: number): Stream<ToolSessionEvent, ToolSessionOutcome>;
  /** Answers a question. The first answer counts; what comes back says whether this was it. */
  respondToElicit(
    elicitId: string,
    response: ElicitResponse | RequestFailure,
  ): Operation<AnswerOutcome>;
  respondToSample(
    sampleId: string,
    response: SampleResponse | RequestFailure,
  ): Operation<AnswerOutcome>;
  /** Halts the tool and waits until it has cleaned up. */
  cancel(reason?: string): Operation<void>;
}

/** Who calls, and on whose behalf. */
export interface ToolSessionOptions {
  /** What the client can do. Without it, the caller is taken to be able to answer everything. */
  readonly client?: ClientInfo;
  /** On whose behalf. The session belongs to that name and to nobody else. */
  readonly principal?: string;
  /** Answers that are known beforehand; each serves the first question with its key. */
  readonly answers?: ReadonlyMap<string, ClientAnswer>;
  /** Where the caller stands in a trace of its own. */
  readonly trace?: TraceContext;
  /**
   * It runs only while somebody waits for it. Any other durable session goes on by
   * itself after a restart.
   */
  readonly needsCaller?: boolean;
  /**
   * Somebody is about to read its events, so that it waits for them rather than run ahead.
   * Default: true.
   */
  readonly awaited?: boolean;
  /** Its record travels with its client, and is kept nowhere else. */
  readonly portable?: boolean;
  /** Since when it is a task, if it is one from the start. Milliseconds since the epoch. */
  readonly taskSince?: number;
}

/** A call that has ended, as a log would tell of it. What was said in it is not in here. */
export interface EndedCall {
  readonly kind: Definition["kind"];
  readonly toolName: string;
  readonly sessionId: string;
  readonly client: ClientInfo;
  readonly principal: string;
  readonly outcome: ToolSessionOutcome;
  /** Milliseconds from the call to its end, waiting included. */
  readonly duration: number;
}

/** All live sessions, and the finished ones that somebody may still want to read. */
export interface ToolSessionRegistry {
  /** Starts a tool. It runs up to its first wait before this returns. */
  create<TInput>(
    tool: FinalizedMcpTool<string, TInput>,
    params: TInput,
    options?: ToolSessionOptions,
  ): Operation<ToolSession>;
  get(id: string): Operation<ToolSession | null>;
  /** Gets a session and holds it, so that it does not expire. Throws `SessionGoneError`. */
  acquire(id: string): Operation<ToolSession>;
  /** Lets go of a session that was acquired. */
  release(id: string): Operation<void>;
}
