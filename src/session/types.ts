/** The public interfaces of tool sessions and their registry. */
import type { Operation, Stream } from "effection";
import type {
  AnswerOutcome,
  AnswerVia,
  ClientAnswer,
  ClientInfo,
  Door,
  ElicitResponse,
  RequestFailure,
  SampleResponse,
  SampleVia,
  ToolResult,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionStatus,
  TraceContext,
} from "../model/events.ts";
import type {
  CallChange,
  CallDetail,
  CallEvents,
  CallEventWindow,
  CallFilter,
  CallPage,
  DryReplay,
  OperatorAnswer,
} from "../model/calls.ts";
import type { Principal } from "../model/principal.ts";
import type { Definition, FinalizedMcpTool } from "../tool/types.ts";

/** One run of a tool, from its call to its result. `TResult` is the type of the result. */
export interface ToolSession<TResult = unknown> {
  /** The unique id of the session. */
  readonly id: string;
  /** The name of the tool. */
  readonly toolName: string;
  /** Returns whether the session is running, waits for an answer, or has ended. */
  status(): Operation<ToolSessionStatus>;
  /**
   * Streams the events after an LSN: first the recorded ones, then new ones as they happen. The
   * stream closes with the outcome of the session. Readers do not affect each other. Throws
   * `EventsGoneError` if events after that LSN are no longer kept. Default: all events.
   */
  getEvents(afterLSN?: number): Stream<ToolSessionEvent, ToolSessionOutcome<TResult>>;
  /**
   * Answers an elicitation. Only the first answer counts. The returned outcome says whether this
   * answer was accepted. `via` says how the answer came. Default: `form`.
   */
  respondToElicit(
    elicitId: string,
    response: ElicitResponse | RequestFailure,
    via?: AnswerVia,
  ): Operation<AnswerOutcome>;
  /** Answers a sampling request. Only the first answer counts, as for `respondToElicit`. */
  respondToSample(
    sampleId: string,
    response: SampleResponse | RequestFailure,
  ): Operation<AnswerOutcome>;
  /** Cancels the session, and waits until the tool has cleaned up. */
  cancel(reason?: string): Operation<void>;
}

/** The options of a tool session: its caller, and answers that are known in advance. */
export interface ToolSessionOptions {
  /**
   * The client and its capabilities. Default: a client that is part of this program, and has all
   * capabilities.
   */
  readonly client?: ClientInfo;
  /** The caller, or its id. The session belongs to it. Default: the anonymous caller. */
  readonly principal?: string | Principal;
  /** Prepared answers by key. Each one answers the first question with that key. */
  readonly answers?: ReadonlyMap<string, ClientAnswer>;
  /** The trace that the call is part of. */
  readonly trace?: TraceContext;
  /**
   * Whether the events have a reader. If so, the tool waits for the reader when it falls behind.
   * Default: true.
   */
  readonly awaited?: boolean;
}

/** The options of a session that a server opens. */
export interface ServedSessionOptions extends ToolSessionOptions {
  /**
   * True for a durable session that runs only while a request waits for it. After a restart, such a
   * session resumes with the next request; others resume without one.
   */
  readonly needsCaller?: boolean;
  /** True if the client keeps the record instead of the store. */
  readonly portable?: boolean;
  /**
   * When the session became a task, in milliseconds since the epoch. Only for a session that is a
   * task from the start.
   */
  readonly taskSince?: number;
}

/** A question of a call, for logs and metrics. It does not hold the text of the question. */
export interface AskedQuestion {
  /** Whether a tool, a prompt or a resource asks. */
  readonly kind: Definition["kind"];
  /** The name of the tool, prompt or resource. */
  readonly toolName: string;
  /** The id of the session. */
  readonly sessionId: string;
  /** The client that called. */
  readonly client: ClientInfo;
  /** The id of the caller whose call asks; empty for the anonymous caller. */
  readonly principal: string;
  /** The key of the question. */
  readonly question: string;
  /** Who is asked: a person, a language model, or the client for its roots. */
  readonly asked: "person" | "model" | "client";
  /** The door at which a person is asked. Absent if no person is asked. */
  readonly door?: Door;
  /** True if nobody has answered the question in time. It was reported before, when it was asked. */
  readonly isTimeout: boolean;
}

/** An answer to a question of a call, for logs. The values of sensitive fields are masked. */
export interface AnsweredQuestion {
  /** Whether a tool, a prompt or a resource asked. */
  readonly kind: Definition["kind"];
  /** The name of the tool, prompt or resource. */
  readonly toolName: string;
  /** The id of the session. */
  readonly sessionId: string;
  /** The client that called. */
  readonly client: ClientInfo;
  /** The id of the caller whose call asks; empty for the anonymous caller. */
  readonly principal: string;
  /** The key of the question. */
  readonly question: string;
  /** Who was asked: a person, a language model, or the client for its roots. */
  readonly asked: "person" | "model" | "client";
  /** How the answer reached the server. */
  readonly via?: AnswerVia | SampleVia;
  /** The id of the person who signed in to answer. Absent if the client answered. */
  readonly by?: string;
  /** The answer. */
  readonly response: ClientAnswer;
  /** The door at which a person was asked. Absent if no person was asked. */
  readonly door?: Door;
  /** Milliseconds from the question to the answer, if it is known. */
  readonly elapsed?: number;
}

/** A call that has ended, for logs and metrics. It holds no arguments and no answers. */
export interface EndedCall {
  /** Whether a tool, a prompt or a resource was called. */
  readonly kind: Definition["kind"];
  /** The name of the tool, prompt or resource. */
  readonly toolName: string;
  /** The id of the session. */
  readonly sessionId: string;
  /** The client that called. */
  readonly client: ClientInfo;
  /** The name of the caller; empty for the anonymous caller. */
  readonly principal: string;
  /** How the call ended. */
  readonly outcome: ToolSessionOutcome;
  /** Milliseconds from the call to its end, including the time spent waiting for answers. */
  readonly duration: number;
}

/**
 * The calls of a server, for operators: those in memory, and those in the store. Values of sensitive
 * fields are masked.
 */
export interface OperatorCalls {
  /** Lists calls, a page at a time. */
  list(filter?: CallFilter): Promise<CallPage>;
  /** Returns a call, or undefined if there is none with this id. Does not resume the call. */
  get(id: string): Promise<CallDetail | undefined>;
  /** Returns a part of the log of a call, or undefined if there is no call with this id. */
  events(id: string, window?: CallEventWindow): Promise<CallEvents | undefined>;
  /**
   * Reports the changes of a call, or of all calls, from now on. A slow reader gets only the last
   * change of each call. A call that ends in its first step is not reported. Ends when the server
   * closes, or with `return()`.
   */
  watch(id?: string): AsyncIterableIterator<CallChange, undefined>;
  /**
   * Answers an open question, which is named by its id or its key. The answer is recorded with the
   * `via` "operator". A call that is not in memory resumes. Throws `CallActionError` if there is no
   * such question, if only the signed-in person may answer it, or if the answer is not valid.
   */
  answer(id: string, question: string, answer: OperatorAnswer): Promise<AnswerOutcome>;
  /**
   * Cancels a call, and waits until its tool has cleaned up. Returns false if the call has ended
   * already. Throws `CallActionError` if there is no such call.
   */
  cancel(id: string, reason?: string): Promise<boolean>;
  /**
   * Continues a call that is set aside, now or with the next request of its client. The call gets as
   * many attempts as a new one. Returns false if no call with this id is set aside.
   */
  revive(id: string): Promise<boolean>;
  /**
   * Runs a recorded call again with the code that is loaded now, and reports where the code differs
   * from the record. The replay has no effects: nothing is sent or stored, and no step runs. The
   * call itself does not change. Throws `CallActionError` if there is no such call.
   */
  replay(id: string): Promise<DryReplay>;
}

/**
 * The tool sessions of this process: those that are running or waiting, and finished ones until
 * they expire. `useToolSessionRegistry` creates one.
 */
export interface ToolSessionRegistry {
  /**
   * Starts a tool, which runs up to its first wait before this returns. Throws
   * `SessionLimitError` if the registry is full, and `RegistryClosedError` if it is closed or the
   * server that uses it is closing.
   */
  create<TInput, TResult>(
    tool: FinalizedMcpTool<string, TInput, TResult>,
    params: TInput,
    options?: ToolSessionOptions,
  ): Operation<ToolSession<ToolResult<TResult>>>;
  /** Returns a session, loaded from the store if it is not in memory, or null if there is none. */
  get(id: string): Operation<ToolSession | null>;
  /**
   * Returns a session and holds it, so that it does not expire before `release`. Throws
   * `SessionGoneError` if there is none.
   */
  acquire(id: string): Operation<ToolSession>;
  /** Releases a session that was acquired. */
  release(id: string): Operation<void>;
  /** How many sessions are running or waiting, and how many finished ones are kept. */
  readonly counts: { readonly live: number; readonly finished: number };
  /** The sessions as operators see them. */
  readonly calls: OperatorCalls;
}
