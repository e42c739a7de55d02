/** Handles the answers of legacy clients to the server's questions. */
import { SessionNotContinuedError } from "../../model/errors.ts";
import type { AnswerOutcome, ClientAnswer } from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import { type RpcAnswer, withoutError } from "../../wire/json-rpc.ts";
import { newerAnswer } from "../../wire/legacy/forms.ts";
import { since } from "../../wire/versions.ts";
import type { CheckedCaller } from "../access.ts";
import { clientAnswer } from "../doors/travel.ts";
import { ACCEPTED, type Accepted, refusalOf, type Refused } from "../reply.ts";
import { type Call, CALL_LOST } from "./call.ts";
import type { ClientSession } from "./client-session.ts";
import { notifyLate } from "./completions.ts";
import { noRoom, notTaken } from "./refusals.ts";

type Taken = Accepted | Refused;

/** Passes an answer to its session. The id of the server's request contains the session id. */
export function answer(
  client: ClientSession,
  message: RpcAnswer,
  caller: CheckedCaller,
): Taken | Promise<Taken> {
  const id = String(message.id);
  const sessionId = id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"));
  const call = client.callsBySession.get(sessionId);
  const revived = call?.revive();
  if (call && revived) {
    return revived.then(() => answerTo(client, call, message, caller), notRevived);
  }
  return answerTo(client, call, message, caller);
}

/** Refuses an answer because the call's session could not be loaded into memory. */
function notRevived(error: unknown): Taken {
  return error instanceof SessionNotContinuedError ? notTaken(error.message) : noRoom(error);
}

function answerTo(
  client: ClientSession,
  call: Call | undefined,
  message: RpcAnswer,
  caller: CheckedCaller,
): Taken {
  if (call?.lost) return notTaken(CALL_LOST);
  const refusal = call && refusalOf(client.core, call.session.tool, caller);
  if (refusal) return refusal;
  const id = String(message.id);
  const outcome = call && respond(client, call.session, id, message);
  // A late or repeated answer is accepted. An answer to an unknown question is refused.
  if (call && outcome !== "unknown") {
    const recorded = call.session.log.whenRecorded();
    return recorded ? { type: "accepted", recorded } : ACCEPTED;
  }
  return notTaken(
    `Cannot accept the answer: request "${id}" is not open; it was answered, withdrawn or never sent, so drop the answer`,
  );
}

function respond(
  client: ClientSession,
  session: LiveToolSession,
  id: string,
  message: RpcAnswer,
): AnswerOutcome {
  const response = responseIn(client, session, message);
  const request = session.openRequests().find((request) => request.id === id);
  if (!request) {
    // Accept no answer to a question that was not sent: ids can be guessed, and the question may be
    // for another door.
    return session.questions.isSent(id) ? session.respond(id, response) : "unknown";
  }
  const answer = clientAnswer(
    client.core,
    session,
    request,
    response,
    () => notifyLate(client, session.id, id),
  );
  if (answer) return session.respondAll([answer])[0]!;
  // The person has agreed to open a page, and will answer there.
  session.log.stir();
  return "accepted";
}

function responseIn(
  client: ClientSession,
  session: LiveToolSession,
  message: RpcAnswer,
): ClientAnswer {
  if ("error" in message) return { error: message.error };
  const response = withoutError(message.result) as unknown as ClientAnswer;
  if (since(client.version, "2025-11-25")) return response;
  const request = session.openRequests().find(({ id }) => id === message.id);
  if (request?.type !== "elicit_request" || request.params.mode !== "form") return response;
  return newerAnswer(request.params.requestedSchema, response);
}
