/** How a session ends: the last event of its log, and what that says of the session. */
import type { EventBody, RpcError, ToolSessionOutcome } from "../events.ts";
import type { RunOutcome } from "../runtime/run-host.ts";

export interface Ending {
  readonly event: EventBody;
  readonly outcome: ToolSessionOutcome;
}

/** A run that came to its own end. */
export function endingOf(outcome: Exclude<RunOutcome, { type: "halted" }>): Ending {
  if (outcome.type === "error") return failed(outcome.error);
  const { result } = outcome;
  return { event: { type: "result", result }, outcome: { status: "completed", result } };
}

/** A run that was stopped. */
export function cancelled(reason: string, by: "caller" | "server"): Ending {
  return { event: { type: "cancelled", reason, by }, outcome: { status: "cancelled", reason } };
}

/** A run that we could not bring to its end. */
export function failedTo(problem: string): Ending {
  return failed({ code: -32603, message: `Cannot ${problem}` });
}

function failed(error: RpcError): Ending {
  return { event: { type: "error", error }, outcome: { status: "failed", error } };
}
