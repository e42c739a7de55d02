/**
 * The state of a deferred call, for `continue_call` and for views: its result, or its questions.
 */
import { text } from "../../model/content.ts";
import type { ElicitFormParams, ToolResult, ToolSessionOutcome } from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import type { AskState } from "../../ui/ask-state.ts";
import type { ServerCore } from "../core.ts";
import { questionsAtDoor } from "./places.ts";
import { sealSecret, sealTicket, ticketFor } from "./tickets.ts";

/** The result of a run, for `continue_call`. The messages of a prompt become text. */
export function continuedResult(outcome: ToolSessionOutcome): ToolResult {
  if (outcome.status !== "completed") {
    const why = outcome.status === "failed"
      ? outcome.error.message
      : `Cannot finish the call: ${outcome.reason}; call the tool again`;
    return { content: [text(why)], isError: true };
  }
  const { result } = outcome;
  if ("content" in result) return result;
  if (!("messages" in result)) return { content: [] };
  return {
    content: result.messages.map(({ role, content }) =>
      content.type === "text" ? text(`${role}: ${content.text}`) : content
    ),
  };
}

/** The state of a call that has not ended, with the data that its view needs to answer. */
export function askState(core: ServerCore, session: LiveToolSession): AskState {
  const { id: sessionId, principal, tool } = session;
  const { sealer } = core.registry;
  const expires = core.deadlines.now() + core.registry.timeToLiveOf(session);
  const handles = {
    ticket: sealTicket(sealer, ticketFor(session, expires), principal),
    secret: sealSecret(sealer, sessionId, principal),
  };
  const [request] = questionsAtDoor(session, "app");
  if (!request) return { ...handles, state: "waiting" };
  const { message, requestedSchema } = request.params as ElicitFormParams;
  const { name, title } = tool as FinalizedMcpTool;
  return {
    ...handles,
    state: "question",
    question: {
      id: request.id,
      key: request.place.key,
      message,
      requestedSchema,
      tool: { name, ...(title !== undefined && { title }) },
    },
  };
}
