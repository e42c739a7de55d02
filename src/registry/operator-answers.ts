/** Checks the answers of operators before they are recorded. */
import type { OperatorAnswer } from "../model/calls.ts";
import { CallActionError } from "../model/errors.ts";
import type { ElicitRequest, ToolSessionRequest } from "../model/events.ts";
import type { Definition } from "../tool/types.ts";
import { questionView } from "./call-view.ts";

/** Finds an open question by its id, its name or its key. Throws if there is not exactly one. */
export function findQuestion(
  callId: string,
  open: readonly ToolSessionRequest[],
  question: string,
): ElicitRequest {
  const found = open.find(({ id }) => id === question) ??
    open.find(({ name }) => name === question);
  const candidates = found ? [found] : open.filter(({ place }) => place.key === question);
  const [request, ...more] = candidates;
  if (!request) {
    throw new CallActionError(
      callId,
      "answer",
      "not_open",
      `no question "${question}" is open`,
      "look at its open questions",
    );
  }
  if (more.length > 0) {
    throw new CallActionError(
      callId,
      "answer",
      "invalid",
      `several questions have the key "${question}"`,
      "name the id of one",
    );
  }
  return request as ElicitRequest;
}

/** Throws if an operator may not give this answer. */
export function checkAnswer(
  callId: string,
  tool: Definition | undefined,
  request: ElicitRequest,
  answer: OperatorAnswer,
): void {
  const { refused } = questionView(request, tool);
  if (refused !== undefined) {
    const reason = tool ? "not_allowed" : "not_here";
    throw new CallActionError(callId, "answer", reason, refused, "look at its other questions");
  }
  const { action, content } = answer;
  if (action !== "accept" && action !== "decline" && action !== "cancel") {
    throw new CallActionError(
      callId,
      "answer",
      "invalid",
      "the action is not accept, decline or cancel",
      "use one of them",
    );
  }
  if (action !== "accept") return;
  const parsed = tool!.elicits.get(request.place.key)!.response.parse(content ?? {});
  if (parsed.ok) return;
  // The message of an issue may quote the value, which may be a secret.
  const problem = parsed.issues.map(({ path, message }) =>
    request.sensitive?.includes(path) ? `"${path}" is not valid` : `"${path}" ${message}`
  ).join(", ");
  throw new CallActionError(
    callId,
    "answer",
    "invalid",
    problem || "its content is not valid",
    "correct the answer",
  );
}
