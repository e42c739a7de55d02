/**
 * The types with which operators see calls. They are plain data: the library returns them, and
 * `/console/api` sends them as JSON. Values of sensitive fields are masked in all of them.
 */
import type { JsonObject } from "./content.ts";
import type { Door, Place, ToolSessionEvent, ToolSessionOutcome } from "./events.ts";

/**
 * The state of a call. `running`: it runs now, or continues when a server has it. `waiting`: it
 * waits for an answer or for time. `set-aside`: it no longer runs, because the server crashed each
 * time it ran the call. The other states are final.
 */
export type CallState =
  | "running"
  | "waiting"
  | "set-aside"
  | "completed"
  | "failed"
  | "cancelled";

/** All states of calls. */
export const CALL_STATES: readonly CallState[] = [
  "running",
  "waiting",
  "set-aside",
  "completed",
  "failed",
  "cancelled",
];

/** An open question of a call. */
export interface CallQuestion {
  /** The id of the question. */
  readonly id: string;
  /** The key of the question in the tool. */
  readonly key: string;
  /** The branch of the tool that asks. Empty for the tool itself. */
  readonly branch: string;
  /** Who is asked: a person, a language model, or the client about its roots. */
  readonly type: "elicit" | "sample" | "roots";
  /** Who may answer. */
  readonly awaits: "person" | "signed-in" | "model" | "client";
  /** The door at which a person is asked. */
  readonly door?: Door;
  /** The message that the person sees. */
  readonly message?: string;
  /** The JSON Schema of the form. Absent if the question has no form. */
  readonly schema?: JsonObject;
  /** The fields of the form that must not be shown. */
  readonly sensitive?: readonly string[];
  /** The URL that the person visits, if the question is a page. */
  readonly url?: string;
  /** When the question was asked, in milliseconds since the epoch, if that is known. */
  readonly since?: number;
  /** When the tool stops waiting, in milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** Why an operator cannot answer. Absent if an operator can answer. */
  readonly refused?: string;
}

/** A call in a list. */
export interface CallSummary {
  /** The id of the call. */
  readonly id: string;
  /** Whether a tool, a prompt or a resource was called. */
  readonly kind: "tool" | "prompt" | "resource";
  /** The name of the tool, prompt or resource. */
  readonly tool: string;
  readonly state: CallState;
  /** True if the call is in the memory of the server. False if only the store has it. */
  readonly inMemory: boolean;
  /** True if the call survives a restart of the server. */
  readonly durable: boolean;
  /** The id of the caller; empty for the anonymous caller. */
  readonly principal: string;
  /** The client that called, if it is known. */
  readonly client?: { readonly name?: string; readonly version?: string };
  /** The protocol revision of the client, if it is known. */
  readonly protocolVersion?: string;
  /** When the call began, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** The LSN of the last event. */
  readonly lastLSN: number;
  /** The open questions, oldest first. */
  readonly questions: readonly CallQuestion[];
  /** Since when the call has been set aside, and after how many failed attempts. */
  readonly setAside?: { readonly at: number; readonly attempts: number };
}

/** All data about one call, except its events. */
export interface CallDetail extends CallSummary {
  /** The arguments of the call. Absent if the server no longer has them. */
  readonly params?: unknown;
  /** The version of the tool that began the call. */
  readonly toolVersion?: string;
  /** The LSN of the first event that is kept. */
  readonly firstLSN: number;
  /** When the record of the call expires, in milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** How often the call has changed its owner, because a server started again or took it over. */
  readonly takeovers?: number;
  /**
   * Milliseconds that the call has waited for answers so far. Only answers whose waiting time is
   * recorded count.
   */
  readonly waitingTime: number;
  /** Milliseconds that the call has worked so far, if its end or the current time is known. */
  readonly workingTime?: number;
  /** The branches that the call has had. Empty if it had none. */
  readonly branches: readonly string[];
  /** How the call ended. Absent if it has not ended. */
  readonly outcome?: ToolSessionOutcome;
}

/** Selects and sorts the calls in a list. All fields are optional. */
export interface CallFilter {
  readonly tool?: string;
  readonly principal?: string;
  /** The name of the client. */
  readonly client?: string;
  readonly state?: CallState | readonly CallState[];
  /** Only calls with an open question at this door. */
  readonly door?: Door;
  /** Only calls that began at least this many milliseconds ago. */
  readonly olderThan?: number;
  /**
   * `waiting`: the call with the oldest open question first, and calls without questions last.
   * `newest` and `oldest`: by the time at which the call began. Default: `waiting`.
   */
  readonly order?: "waiting" | "newest" | "oldest";
  /** The `next` of an earlier page. Default: the first page. */
  readonly after?: string;
  /** The maximum number of calls. Default: 100. At most 500. */
  readonly limit?: number;
}

/** A part of the list of calls. */
export interface CallPage {
  readonly calls: readonly CallSummary[];
  /** Where the next page starts. Absent on the last page. */
  readonly next?: string;
  /** The number of calls that match the filter. */
  readonly total: number;
}

/** A part of the log of a call. */
export interface CallEvents {
  readonly events: readonly ToolSessionEvent[];
  /** The LSN of the first event that is kept. Earlier events are gone. */
  readonly firstLSN: number;
  /** The LSN of the last event of the call. */
  readonly lastLSN: number;
}

/** Which part of a log to read. */
export interface CallEventWindow {
  /** The LSN of the first event of the window. Default: 1. */
  readonly from?: number;
  /** The maximum number of events. Default: 100. At most 1,000. */
  readonly limit?: number;
}

/** A call has changed: it began, got events, began to wait, continued, or ended. */
export interface CallChange {
  readonly id: string;
  readonly tool: string;
  readonly state: CallState;
  readonly lastLSN: number;
}

/** An answer of the operator. */
export interface OperatorAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: JsonObject;
}

/** The result of running a recorded call again, without effects, with the code that is loaded now. */
export interface DryReplay {
  /**
   * `same`: the code did everything that is recorded. `diverged`: it did something else. `refused`:
   * it was not run, for example because this server does not have the tool.
   */
  readonly verdict: "same" | "diverged" | "refused";
  /** The reason. Absent if the verdict is `same`. */
  readonly problem?: string;
  /** The LSN of the recorded event at which the code did something else, if there is one. */
  readonly divergedAt?: number;
  /** The step that the code did instead. Absent if there is none. */
  readonly did?: Place;
  /**
   * The versions of the tool, if they differ. A server does not continue a call that another version
   * began.
   */
  readonly versions?: { readonly recorded?: string; readonly loaded?: string };
  /** The recorded questions, steps, sleeps and values in order, and whether the code reached them. */
  readonly steps: readonly DryReplayStep[];
  /**
   * The next actions of the code: the steps, sleeps and questions that it began after the record,
   * and `result` or `error` if it ended. Empty if it waits for a recorded question or sleep.
   */
  readonly next: readonly (Place | "result" | "error")[];
}

/** A recorded question, step, sleep or value in a dry replay. */
export interface DryReplayStep {
  /** The LSN of the event that began it. */
  readonly lsn: number;
  /** The LSN of its outcome. Absent if it has none. */
  readonly outcomeLSN?: number;
  readonly place: Place;
  /** `same`: the code reached it. `diverged`: the code did something else. `missing`: not reached. */
  readonly status: "same" | "diverged" | "missing";
}
