/** Tells of a call that has ended, to a log or a count; what that does wrong harms nobody. */
import type { Fault } from "../run/run-port.ts";
import type { LiveToolSession } from "./tool-session.ts";
import type { EndedCall } from "./types.ts";

export function tellEnded(
  session: LiveToolSession,
  now: number,
  onCall: ((call: EndedCall) => void) | undefined,
  report: (fault: Fault) => void,
): void {
  if (!onCall) return;
  const { id: sessionId, toolName, client, principal, createdAt, tool: { kind } } = session;
  const duration = now - createdAt;
  try {
    onCall({
      kind,
      toolName,
      sessionId,
      client,
      principal,
      duration,
      outcome: session.outcome!,
    });
  } catch (error) {
    report({ what: "its end could not be told", toolName, sessionId, error });
  }
}
