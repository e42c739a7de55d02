/** Decides which open questions a request can carry to its client. */
import { canElicitForm, canElicitUrl } from "../../ask/elicit.ts";
import type { ClientInfo, Door, ElicitRequest, ToolSessionRequest } from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";

/**
 * How many `input_required` results a request may get. Known clients give up at the tenth; before
 * that, the call ends with a deferral, and continues with a fresh count.
 */
export const MAX_ROUNDS = 9;

/** Whether a request of this client can carry a question to the person or the model. */
export function travels(request: ToolSessionRequest, client: ClientInfo): boolean {
  const { sampling, roots } = client.capabilities;
  switch (request.type) {
    case "sample_request":
      return request.params.tools ? sampling?.tools !== undefined : sampling !== undefined;
    case "roots_request":
      return roots !== undefined;
    case "elicit_request":
      if (request.params.mode === "url") return canElicitUrl(client);
      return (request.door ?? "form") === "form" && canElicitForm(client);
  }
}

/** Whether a call with these open questions can go on after a request of this client has ended. */
export function canDefer(
  session: LiveToolSession,
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): boolean {
  return open.some((request) =>
    request.type === "elicit_request" && request.params.mode === "form" &&
    doorOf(session, request, client) !== undefined
  );
}

/** The open questions that a request of this client can carry. */
export function travelling(
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): readonly ToolSessionRequest[] {
  return open.filter((request) => travels(request, client));
}

/**
 * The door at which a question stands for a client. A question for a form stands at the next door
 * if the client of the current request has no forms.
 */
export function doorOf(
  session: LiveToolSession,
  request: ElicitRequest,
  client: ClientInfo,
): Door | undefined {
  const door = request.door ?? "form";
  if (door !== "form" || request.params.mode === "url" || canElicitForm(client)) return door;
  const form = session.tool.elicits.get(request.place.key);
  if (!form) return undefined;
  const { principal, tool } = session;
  return session.site.doors.choose({ client, principal, tool }, form, ["form"], false);
}
