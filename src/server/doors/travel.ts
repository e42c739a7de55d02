/** Decides which open questions the server can send to the client in the reply to a request. */
import { canElicitForm, canElicitUrl } from "../../ask/elicit.ts";
import type { ClientInfo, Door, ElicitRequest, ToolSessionRequest } from "../../model/events.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";

/**
 * How many `input_required` results a request may get. Known clients give up at the tenth. Before
 * that, the request ends with a deferral, and the count starts again.
 */
export const MAX_ROUNDS = 9;

/** True if the reply to a request of this client can contain the question. */
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

/** True if a call with these open questions can continue after its request ends with a deferral. */
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

/** The open questions that the reply to a request of this client can contain. */
export function travelling(
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): readonly ToolSessionRequest[] {
  return open.filter((request) => travels(request, client));
}

/**
 * The door of a question for a client. If the question was meant for a form, and the client of the
 * current request has no forms, chooses another door.
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
