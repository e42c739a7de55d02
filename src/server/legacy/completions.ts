/**
 * Sends `notifications/elicitation/complete`: the person has answered on a page that the client was
 * asked to open. The modern era has no such notification.
 */
import type { LiveToolSession } from "../../session/tool-session.ts";
import { notificationText } from "../../wire/json-rpc.ts";
import type { ClientSession } from "./client-session.ts";

/** The notification for an answer on a page. Undefined if the client did not send the person to a page. */
export function completionText(
  { info }: ClientSession,
  { log }: LiveToolSession,
  requestId: string,
): string | undefined {
  if (info.capabilities.elicitation?.url === undefined) return undefined;
  const request = log.findLast((event) =>
    event.type === "elicit_request" && event.id === requestId
  );
  // The client did not open the page that also shows a form.
  if (request?.type !== "elicit_request" || request.door !== "page") return undefined;
  return elicitationComplete(requestId);
}

/** Notifies a client whose call was deferred, so that the call no longer has a stream. */
export function notifyLate(client: ClientSession, sessionId: string, requestId: string): void {
  if (!client.callsBySession.get(sessionId)?.deferred) return;
  client.notifications.post(elicitationComplete(requestId));
}

function elicitationComplete(elicitationId: string): string {
  return notificationText("notifications/elicitation/complete", { elicitationId });
}
