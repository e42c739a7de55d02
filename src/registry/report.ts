/** Reports faults and ended calls to the operator. */
import type { AnswerBody, ToolSessionRequest } from "../model/events.ts";
import type { Fault } from "../run/run-port.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { AnsweredQuestion, AskedQuestion, EndedCall } from "../session/types.ts";

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

/** The data about a question that `onQuestion` and `onAnswer` get. */
function questionOf(
  session: LiveToolSession,
  request: ToolSessionRequest,
): Omit<AskedQuestion, "isTimeout"> {
  const { id: sessionId, toolName, client, principal, tool: { kind } } = session;
  const asked = ASKED[request.type];
  const question = {
    kind,
    toolName,
    sessionId,
    client,
    principal,
    question: request.place.key,
    asked,
  };
  if (request.type !== "elicit_request") return question;
  return { ...question, door: request.params.mode === "url" ? "page" : request.door ?? "form" };
}

/** Calls `onQuestion` with a question that is sent, or that nobody has answered in time. */
export function tellAsked(
  session: LiveToolSession,
  request: ToolSessionRequest,
  isTimeout: boolean,
  onQuestion: (question: AskedQuestion) => void,
): void {
  const { id: sessionId, toolName } = session;
  try {
    onQuestion({ ...questionOf(session, request), isTimeout });
  } catch (error) {
    session.report({ what: "onQuestion threw an error", toolName, sessionId, error });
  }
}

/** Calls `onAnswer` with an answer that was accepted. */
export function tellAnswered(
  session: LiveToolSession,
  request: ToolSessionRequest,
  { response, via, by, elapsed }: AnswerBody,
  onAnswer: (answer: AnsweredQuestion) => void,
): void {
  const { id: sessionId, toolName } = session;
  try {
    onAnswer({
      ...questionOf(session, request),
      ...(via !== undefined && { via }),
      ...(by !== undefined && { by }),
      response,
      ...(elapsed !== undefined && { elapsed }),
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
