/** Turns the end of a run into the final event and the outcome of its session. */
import { StoreConflictError } from "../model/errors.ts";
import type { EventBody, RpcError, ToolSessionOutcome } from "../model/events.ts";
import { INTERNAL_ERROR } from "../model/rpc-codes.ts";
import type { RunOutcome } from "../run/run-port.ts";
import { refusal } from "../tool/result.ts";
import type { Definition } from "../tool/types.ts";

export interface Ending {
  readonly event: EventBody;
  readonly outcome: ToolSessionOutcome;
}

/** Why a run was halted, and by whom. */
export interface HaltReason {
  readonly reason: string;
  readonly by: "caller" | "server";
}

const NOBODY: HaltReason = { reason: "", by: "server" };

export function endingOf(outcome: RunOutcome, halted: HaltReason = NOBODY): Ending {
  switch (outcome.type) {
    case "result": {
      const { result } = outcome;
      return { event: { type: "result", result }, outcome: { status: "completed", result } };
    }
    case "error":
      return failedWith(outcome.error);
    case "halted":
      return {
        event: { type: "cancelled", ...halted },
        outcome: { status: "cancelled", reason: halted.reason },
      };
  }
}

/** Returns why a call can no longer be recorded, as a text for its caller. */
export function whyLost(error: unknown): string {
  if (!(error instanceof StoreConflictError)) return "the server could not store this call";
  return error.missing
    ? "the record of this call is no longer in the store"
    : "another server has taken over this call";
}

/**
 * Returns the end of a session whose replay differs from its record. `how` describes the
 * difference.
 */
export function divergedEnding({ kind, name }: Definition, how: string): Ending {
  return faulted(`Cannot run ${kind} "${name}" again from its record: ${how}; call it again`);
}

/** Returns the end of a session that can no longer write its record. */
export function lostEnding(why: string): Ending {
  return faulted(`Cannot continue the call: ${why}; send the same request again`);
}

/**
 * Returns the end of a session that exceeds a limit while it waits. The model receives the reason.
 */
export function noRoomEnding(tool: Definition, why: string): Ending {
  return endingOf(
    refusal(
      tool,
      `Cannot wait for an answer: ${why}; answer or cancel another call, then call the tool again`,
    ),
  );
}

function faulted(message: string): Ending {
  return failedWith({ code: INTERNAL_ERROR, message });
}

function failedWith(error: RpcError): Ending {
  return { event: { type: "error", error }, outcome: { status: "failed", error } };
}

/**
 * Returns the outcome of a session with this last event, or undefined if the session has not ended.
 */
export function outcomeIn(last: EventBody): ToolSessionOutcome | undefined {
  switch (last.type) {
    case "result":
      return { status: "completed", result: last.result };
    case "error":
      return { status: "failed", error: last.error };
    case "cancelled":
      return { status: "cancelled", reason: last.reason };
  }
  return undefined;
}
