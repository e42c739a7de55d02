/** `continue_call` in the legacy era: a new request takes over the run of a deferred call. */
import type { JsonObject } from "../../model/content.ts";
import { resultText, type RpcId } from "../../wire/json-rpc.ts";
import { resultFor } from "../../wire/legacy/encode.ts";
import type { CheckedCaller } from "../access.ts";
import { answerCall } from "../doors/answer-call.ts";
import { continueCall, lastRead, ticketIn } from "../doors/continue-call.ts";
import { isReadOf } from "../doors/readings.ts";
import { failed, value } from "../reply.ts";
import { Call } from "./call.ts";
import type { ClientSession } from "./client-session.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { Definition } from "../../tool/types.ts";
import type { Received } from "./receive-message.ts";
import { LEGACY_ERRORS } from "./refusals.ts";

/** Continues a deferred call. Loads its run into memory first, if necessary. */
export function continueLegacyCall(
  client: ClientSession,
  id: RpcId,
  params: JsonObject,
  meta: JsonObject,
  caller: CheckedCaller,
): Received | Promise<Received> {
  const { core, principal } = client;
  const ticket = ticketIn(core, params, principal);
  const found = ticket && core.registry.lookup(ticket.sessionId, ticket.lsn);
  const go = () => attach(client, id, params.arguments as JsonObject, meta, caller);
  if (!(found instanceof Promise)) return go();
  return found.then(go).catch((error) => failed(core, id, error, LEGACY_ERRORS));
}

/** Answers the view of a call, and first loads its run into memory if necessary. */
export function answerLegacyCall(
  client: ClientSession,
  id: RpcId,
  params: JsonObject,
  caller: CheckedCaller,
): Received | Promise<Received> {
  const { core, principal, version, viewScope } = client;
  const ticket = ticketIn(core, params, principal);
  const found = ticket && core.registry.lookup(ticket.sessionId, ticket.lsn);
  const args = (params.arguments ?? {}) as JsonObject;
  const go = () =>
    value(resultText(id, resultFor(version, answerCall(core, args, principal, viewScope, caller))));
  if (!(found instanceof Promise)) return go();
  return found.then(go).catch((error) => failed(core, id, error, LEGACY_ERRORS));
}

/** Reads a resource. If an earlier read of it waits for the person, continues that one. */
export function readLegacy(
  client: ClientSession,
  id: RpcId,
  { name }: Definition,
  uri: unknown,
  meta: JsonObject,
  start: () => Received,
): Received | Promise<Received> {
  const { core, principal, viewScope } = client;
  const sessionId = core.readings.find(uri, viewScope, principal);
  if (sessionId === undefined) return start();
  const go = (session: LiveToolSession | undefined) => {
    if (session && isReadOf(session, name, principal)) {
      return takeOver(client, id, meta, session, lastRead(session));
    }
    core.readings.taken({ id: sessionId });
    return start();
  };
  const found = core.registry.lookup(sessionId);
  if (!(found instanceof Promise)) return go(found);
  return found.then(go).catch((error) => failed(core, id, error, LEGACY_ERRORS));
}

function attach(
  client: ClientSession,
  id: RpcId,
  args: JsonObject = {},
  meta: JsonObject,
  caller: CheckedCaller,
): Received {
  const { core, principal, info, version } = client;
  const continued = continueCall(core, args, principal, info, caller);
  if (continued.type === "reply") {
    return value(resultText(id, resultFor(version, continued.result)));
  }
  return takeOver(client, id, meta, continued.session, continued.after);
}

/** Connects a run to a new request, which replaces the former one. */
function takeOver(
  client: ClientSession,
  id: RpcId,
  meta: JsonObject,
  session: LiveToolSession,
  after: number,
): Received {
  const { info } = client;
  const call = new Call(id, client, meta);
  if (!session.outcome) {
    session.hearFrom(info, session.trace);
    client.calls.set(id, call);
  }
  call.continue(session, after);
  client.callsBySession.set(session.id, call);
  return { type: "call", call };
}
