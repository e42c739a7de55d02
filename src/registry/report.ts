/** Reports faults and ended calls to the operator. */
import type { AnswerBody, ToolSessionRequest } from "../model/events.ts";
import type { Fault } from "../run/run-port.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { AnsweredQuestion, EndedCall } from "../session/types.ts";

/** Wraps a `report` function so that it never throws. Default: prints to stderr. */
export function reporter(report: (fault: Fault) => void = printFault): (fault: Fault) => void {
  return (fault) => {
    try {
      report(fault);
    } catch (error) {
      printFault({ ...fault, what: "an error could not be reported", error });
    }
  };
}

function printFault({ what, toolName, sessionId, error }: Fault): void {
  console.error(`tool "${toolName}", session ${sessionId}: ${what}:`, error);
}

const ASKED = {
  elicit_request: "person",
  sample_request: "model",
  roots_request: "client",
} as const;

/** Calls `onAnswer` with an answer that was accepted. */
export function tellAnswered(
  session: LiveToolSession,
  request: ToolSessionRequest,
  { response, via, by }: AnswerBody,
  onAnswer: (answer: AnsweredQuestion) => void,
): void {
  const { id: sessionId, toolName, client, principal, tool: { kind } } = session;
  try {
    onAnswer({
      kind,
      toolName,
      sessionId,
      client,
      principal,
      question: request.place.key,
      asked: ASKED[request.type],
      ...(via !== undefined && { via }),
      ...(by !== undefined && { by }),
      response,
    });
  } catch (error) {
    session.report({ what: "onAnswer threw an error", toolName, sessionId, error });
  }
}

/** Calls `onCall` with a session that has ended. */
export function tellEnded(
  session: LiveToolSession,
  now: number,
  onCall: (call: EndedCall) => void,
  report: (fault: Fault) => void,
): void {
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
    report({ what: "onCall threw an error", toolName, sessionId, error });
  }
}
