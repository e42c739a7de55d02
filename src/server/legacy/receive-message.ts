/** Handles one message of a legacy client, on any transport. */
import type { Operation } from "effection";
import { isObject } from "../../lib/json.ts";
import { startOperation } from "../../lib/start-operation.ts";
import type { StrandOutcome } from "../../lib/strand.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  RESOURCE_NOT_FOUND,
} from "../../model/rpc-codes.ts";
import { refusal } from "../../tool/result.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import {
  errorText,
  resultText,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  traceIn,
} from "../../wire/json-rpc.ts";
import { cut, MAX_ID_LENGTH, MAX_REASON_LENGTH } from "../../wire/lengths.ts";
import { TASKS_EXTENSION } from "../../wire/modern/meta.ts";
import type { CheckedCaller } from "../access.ts";
import { ANSWER_CALL, CONTINUE_CALL } from "../doors/door-tools.ts";
import { checkQuery, queryFor } from "../queries.ts";
import {
  ACCEPTED,
  type Accepted,
  busy,
  failed,
  type Later,
  later,
  type Refused,
  rpcErrorOf,
  type Value,
  value,
} from "../reply.ts";
import { missingCapabilities, type Target, targetOf, wayOut } from "../run-target.ts";
import { mayShowView } from "../views.ts";
import { answer } from "./answers.ts";
import { Call } from "./call.ts";
import { ClientSession } from "./client-session.ts";
import { answerLegacyCall, continueLegacyCall, readLegacy } from "./continue.ts";
import { LEGACY_ERRORS, notTaken } from "./refusals.ts";
import { applySetting } from "./settings.ts";

/** The result of handling a message: a reply, or a call that has started. */
export type Received = Accepted | Refused | Value | Later<never> | CallStarted;

export interface CallStarted {
  readonly type: "call";
  readonly call: Call;
}

/** Handles one message. Returns a promise if a call must first be loaded into memory. */
export function receiveMessage(
  client: ClientSession,
  message: RpcMessage,
  caller: CheckedCaller,
): Received | Promise<Received> {
  client.who = caller.who;
  switch (message.type) {
    case "request":
      return request(client, message, caller);
    case "notification":
      return notification(client, message);
    case "answer":
      return answer(client, message, caller);
    case "invalid": {
      const { id, problem } = message;
      return notTaken(`Cannot read the message: ${problem}; send JSON-RPC 2.0`, id);
    }
  }
}

function request(
  client: ClientSession,
  message: RpcRequest,
  caller: CheckedCaller,
  looked = false,
): Received | Promise<Received> {
  const { id, method, params } = message;
  try {
    if (!client.initialized && method !== "initialize" && method !== "ping") {
      throw new ProtocolError(
        INVALID_REQUEST,
        `Cannot serve "${method}": the session is not initialized; send initialize first`,
      );
    }
    const { core } = client;
    const target = targetOf(core, method, params, RESOURCE_NOT_FOUND, caller);
    if (target) {
      return refusedNow(client, message, caller, looked) ??
        call(client, id, target, params, caller);
    }
    const query = queryFor(core, method);
    if (query) {
      checkQuery(core, method, params, caller);
      return refusedNow(client, message, caller, looked) ??
        answered(client, id, () => query(core, params, client.info, caller));
    }
    return value(resultText(id, applySetting(client, method, params, caller)));
  } catch (error) {
    return failed(client.core, id, error, LEGACY_ERRORS);
  }
}

/**
 * Refuses a call or query if the limit is reached or its id is in use. Undefined if it can start.
 * Calls that are not in memory may have ended. So they are loaded first, and the request is tried
 * again.
 */
function refusedNow(
  client: ClientSession,
  message: RpcRequest,
  caller: CheckedCaller,
  looked: boolean,
): Received | Promise<Received> | undefined {
  const { id } = message;
  const { maxCallsPerClientSession } = client.core.limits;
  const isFull = client.calls.size + client.queries.size >= maxCallsPerClientSession;
  const isTwice = client.calls.has(id) || client.queries.has(id);
  if (!isFull && !isTwice) return undefined;
  const absent = looked ? [] : client.absentInTheWayOf(id);
  if (absent.length > 0) {
    const seen = Promise.allSettled(absent.map((call) => call.revive()));
    return seen.then(() => request(client, message, caller, true));
  }
  if (isTwice) {
    const message = `Cannot start request ${
      JSON.stringify(id)
    }: another request with this id is running; use another id`;
    return value(errorText(id, { code: INVALID_REQUEST, message }));
  }
  const problem =
    `Cannot start a call: ${maxCallsPerClientSession} calls are already running; wait until one has ended`;
  return busy(id, problem, LEGACY_ERRORS, 429);
}

function call(
  client: ClientSession,
  id: RpcId,
  target: Target,
  params: JsonObject,
  caller: CheckedCaller,
): Received | Promise<Received> {
  const { definition } = target;
  const missing = missingCapabilities(
    definition,
    client.info,
    client.core.pages.doors,
    client.principal,
  );
  if (missing) return value(incapable(client, id, definition, missing));
  const { task } = definition as FinalizedMcpTool;
  if (task?.required) return value(incapable(client, id, definition, { [TASKS_EXTENSION]: {} }));
  const meta = isObject(params._meta) ? params._meta : {};
  if (typeof meta.progressToken === "string" && meta.progressToken.length > MAX_ID_LENGTH) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot start the call: its progressToken is longer than ${MAX_ID_LENGTH} characters; send a shorter one`,
    );
  }
  if (definition === CONTINUE_CALL) return continueLegacyCall(client, id, params, meta, caller);
  if (definition === ANSWER_CALL) return answerLegacyCall(client, id, params, caller);
  if (definition.kind !== "resource") return start(client, id, target, meta, caller);
  const { uri } = params;
  return readLegacy(client, id, definition, uri, meta, () => {
    return start(client, id, target, meta, caller);
  });
}

function start(
  client: ClientSession,
  id: RpcId,
  { definition, args }: Target,
  meta: JsonObject,
  caller: CheckedCaller,
): Received {
  const call = new Call(id, client, meta);
  const { info } = client;
  const principal = caller.who ?? client.principal;
  // Without a session, no client could resume the call after a restart.
  const needsCaller = client.sessionless;
  const options = { client: info, principal, trace: traceIn(meta), needsCaller, awaited: true };
  const session = client.core.registry.openFleeting(definition, args, options, call);
  call.begin(session);
  if (client.sessionless) session.stayHere();
  // A call that has already ended is registered by `ClientSession.keep`, if it needs a stream.
  if (!session.outcome) {
    client.calls.set(id, call);
    client.callsBySession.set(session.id, call);
    const scope = client.viewScope;
    if (scope && mayShowView(definition, info)) client.core.apps.expect(session, args, scope);
    if (definition.kind === "resource") {
      client.core.readings.expect(session, (args as JsonObject).uri, scope);
    }
  }
  return { type: "call", call };
}

/** The response to a client that lacks a capability that the definition requires. */
function incapable(
  client: ClientSession,
  id: RpcId,
  definition: Definition,
  missing: JsonObject,
): string {
  const what = Object.entries(missing)
    .map(([name, modes]) => [name, ...Object.keys(modes as object)].join("."))
    .join(" and ");
  const refused = refusal(
    definition,
    `Cannot run ${definition.kind} "${definition.name}": it needs ${what}, which ${
      client.info.name ?? "this client"
    } does not support; ${wayOut(definition, missing, client.core.pages, client.principal)}`,
  );
  return refused.type === "result" ? resultText(id, refused.result) : errorText(id, refused.error);
}

/** Runs a query. Answers immediately if the query did not have to wait. */
function answered(
  client: ClientSession,
  id: RpcId,
  query: () => Operation<JsonObject>,
): Received {
  const started = startOperation(client.core.registry.scope, query);
  if (started.outcome) return value(outcomeText(client, id, started.outcome));
  client.queries.set(id, started);
  const text = started.ended().then((outcome) => {
    client.queries.delete(id);
    return outcomeText(client, id, outcome);
  });
  return later(text, value, { taken: true });
}

function outcomeText(client: ClientSession, id: RpcId, outcome: StrandOutcome<JsonObject>): string {
  switch (outcome.type) {
    case "returned":
      return resultText(id, outcome.value);
    case "threw":
      return errorText(id, rpcErrorOf(client.core, outcome.error));
    case "halted":
      return errorText(id, {
        code: INTERNAL_ERROR,
        message: "Cannot answer: the request was cancelled; send it again if you still need it",
      });
  }
}

function notification(client: ClientSession, { method, params }: RpcNotification): Received {
  if (method === "notifications/initialized") client.ready();
  if (method === "notifications/cancelled") {
    const { requestId, reason } = params;
    const why = typeof reason === "string"
      ? cut(reason, MAX_REASON_LENGTH)
      : "cancelled by the client";
    client.queries.get(requestId as RpcId)?.halt();
    const recorded = client.calls.get(requestId as RpcId)?.cancel(why);
    if (recorded) return { type: "accepted", recorded };
  }
  return ACCEPTED;
}
