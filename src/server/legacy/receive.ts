/**
 * What happens to a message of a legacy client. Total: every message has an
 * outcome, and none of them is a throw. How the outcome travels is the
 * transport's business.
 */
import type { Operation } from "effection";
import { isObject } from "../../lib/json.ts";
import { startOperation } from "../../lib/start-operation.ts";
import type { StrandOutcome } from "../../lib/strand.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError, SessionLimitError, SessionNotContinuedError } from "../../model/errors.ts";
import type { ClientAnswer } from "../../model/events.ts";
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
} from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import { refusal } from "../../tool/result.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import {
  errorText,
  resultText,
  type RpcAnswer,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  traceIn,
  withoutError,
} from "../../wire/json-rpc.ts";
import { newerAnswer } from "../../wire/legacy/forms.ts";
import {
  cut,
  isLargerThan,
  MAX_CAPABILITIES_SIZE,
  MAX_ID_LENGTH,
  MAX_REASON_LENGTH,
} from "../../wire/lengths.ts";
import { isLogLevel } from "../../wire/log-level.ts";
import { TASKS_EXTENSION } from "../../wire/modern/meta.ts";
import { isLegacyVersion, LEGACY_VERSIONS, since } from "../../wire/versions.ts";
import { serverCapabilities } from "../catalog.ts";
import { QUERIES } from "../queries.ts";
import {
  ACCEPTED,
  busy,
  failed,
  later,
  type Reply,
  rpcErrorOf,
  type StreamReply,
  value,
} from "../reply.ts";
import {
  missingCapabilities,
  MOST_SUBSCRIPTIONS,
  resourceAt,
  type Target,
  targetOf,
} from "../run-target.ts";
import { Call, CALL_LOST } from "./call.ts";
import type { ClientSession } from "./client-session.ts";
import { LEGACY_ERRORS, notTaken } from "./refusals.ts";

/** What these change belongs to a session. */
const OF_SESSIONS = new Set(["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

/** What becomes of a message: a reply, or a call that has begun. */
export type Received = Exclude<Reply, StreamReply> | CallStarted;

export interface CallStarted {
  readonly type: "call";
  readonly call: Call;
}

/** A promise where a call has to be brought back into memory first. */
export function receive(
  client: ClientSession,
  message: RpcMessage,
): Received | Promise<Received> {
  client.lastSeen = client.core.deadlines.now();
  switch (message.type) {
    case "request":
      return request(client, message);
    case "notification":
      return notification(client, message);
    case "answer":
      return answer(client, message);
    case "invalid": {
      const { id, problem } = message;
      return notTaken(`Cannot read the message: ${problem}; send JSON-RPC 2.0`, id);
    }
  }
}

function request(
  client: ClientSession,
  message: RpcRequest,
  looked = false,
): Received | Promise<Received> {
  const { id, method, params } = message;
  try {
    if (!client.initialized && method !== "initialize" && method !== "ping") {
      throw new ProtocolError(
        INVALID_REQUEST,
        `Cannot ${method}: the session has not begun; send initialize first`,
      );
    }
    const target = targetOf(client.core, method, params, RESOURCE_NOT_FOUND);
    if (target) return refusedNow(client, message, looked) ?? call(client, id, target, params);
    const query = QUERIES[method];
    if (query) {
      return refusedNow(client, message, looked) ??
        answered(client, id, () => query(client.core, params));
    }
    return value(resultText(id, simple(client, method, params)));
  } catch (error) {
    return failed(client.core, id, error, LEGACY_ERRORS);
  }
}

/** The requests that are answered from what is at hand. */
function simple(client: ClientSession, method: string, params: JsonObject): JsonObject {
  if (client.sessionless && OF_SESSIONS.has(method)) {
    throw new ProtocolError(
      INVALID_REQUEST,
      `Cannot ${method}: the request names no session; send initialize first, and its Mcp-Session-Id with every request`,
    );
  }
  switch (method) {
    case "ping":
      return {};
    case "initialize":
      return initialize(client, params);
    case "logging/setLevel":
      if (!isLogLevel(params.level)) {
        throw new ProtocolError(
          INVALID_PARAMS,
          "Cannot set the log level: that is none; send one from debug to emergency",
        );
      }
      client.logLevel = params.level;
      client.changed = true;
      return {};
    case "resources/subscribe":
      client.subscribe(uriOf(client, params));
      client.changed = true;
      return {};
    case "resources/unsubscribe":
      client.unsubscribe(params.uri as string);
      client.changed = true;
      return {};
    default:
      throw new ProtocolError(
        METHOD_NOT_FOUND,
        `Cannot ${method}: this server has no such method; see its capabilities`,
      );
  }
}

function initialize(client: ClientSession, params: JsonObject): JsonObject {
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== "string" || !isObject(capabilities) || !isObject(clientInfo)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot initialize: protocolVersion, capabilities or clientInfo is missing; send all three",
    );
  }
  // It is kept for as long as the session is, and anybody may open one.
  if (isLargerThan(capabilities, MAX_CAPABILITIES_SIZE)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot initialize: the capabilities take more than ${MAX_CAPABILITIES_SIZE} bytes; declare fewer`,
    );
  }
  const version = isLegacyVersion(protocolVersion) ? protocolVersion : LEGACY_VERSIONS[0];
  const offered = { ...serverCapabilities(client.core), logging: {} };
  client.introduce(version, clientInfo, capabilities, offered);
  const { info, instructions } = client.core;
  return {
    protocolVersion: version,
    capabilities: offered,
    serverInfo: { ...info },
    ...(instructions !== undefined && { instructions }),
  };
}

function uriOf(client: ClientSession, { uri }: JsonObject): string {
  if (typeof uri !== "string") {
    throw new ProtocolError(INVALID_PARAMS, "Cannot subscribe: the uri is missing; send one");
  }
  if (client.subscriptions.size >= MOST_SUBSCRIPTIONS && !client.subscriptions.has(uri)) {
    throw new ProtocolError(
      INVALID_REQUEST,
      `Cannot subscribe to "${uri}": there are ${MOST_SUBSCRIPTIONS} subscriptions; drop some first`,
    );
  }
  if (resourceAt(client.core, uri)) return uri;
  throw new ProtocolError(
    RESOURCE_NOT_FOUND,
    `Cannot subscribe to "${uri}": there is no such resource; list the resources to see which there are`,
    { uri },
  );
}

/** Why a request that may take a while cannot be begun. */
function refusedNow(
  client: ClientSession,
  message: RpcRequest,
  looked: boolean,
): Received | Promise<Received> | undefined {
  const { id } = message;
  const { maxCallsPerClientSession } = client.core.limits;
  const isFull = client.calls.size + client.queries.size >= maxCallsPerClientSession;
  const isTwice = client.isAnswering(id);
  if (!isFull && !isTwice) return undefined;
  const absent = looked ? [] : client.absentInTheWayOf(id);
  if (absent.length > 0) {
    const seen = Promise.allSettled(absent.map((call) => call.takeUp()));
    return seen.then(() => request(client, message, true));
  }
  if (isTwice) {
    const message = `Cannot start request ${
      JSON.stringify(id)
    }: one with this id is under way; use another id`;
    return value(errorText(id, { code: INVALID_REQUEST, message }));
  }
  const problem =
    `Cannot start a call: ${maxCallsPerClientSession} are under way already; wait for one`;
  return busy(id, problem, LEGACY_ERRORS, 429);
}

function call(client: ClientSession, id: RpcId, target: Target, params: JsonObject): Received {
  const { definition, args } = target;
  const missing = missingCapabilities(definition, client.info);
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
  const call = new Call(id, client, meta);
  const { info, principal } = client;
  // Without a session nobody could come back to the call after a restart.
  const needsCaller = client.sessionless;
  const options = { client: info, principal, trace: traceIn(meta), needsCaller, awaited: true };
  const session = call.session = client.core.registry.openFleeting(definition, args, options, call);
  if (client.sessionless) session.stayHere();
  // Whoever answers it keeps one that has ended at once, should it be needed again.
  if (!session.outcome) {
    client.calls.set(id, call);
    client.callsBySession.set(session.id, call);
  }
  return { type: "call", call };
}

/** Tells that the client lacks what a definition insists on. */
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
    } does not support; use a client that does`,
  );
  return refused.type === "result" ? resultText(id, refused.result) : errorText(id, refused.error);
}

/** Runs a query, and answers at once if it did not have to wait. */
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
  return later(text, value);
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
        message: "Cannot answer: the request was cancelled; send it again if it is still wanted",
      });
  }
}

function notification(client: ClientSession, { method, params }: RpcNotification): Received {
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

/** The id of a request of ours names the session that asked. */
function answer(client: ClientSession, message: RpcAnswer): Received | Promise<Received> {
  const id = String(message.id);
  const sessionId = id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"));
  const call = client.callsBySession.get(sessionId);
  const takenUp = call?.takeUp();
  if (call && takenUp) {
    return takenUp.then(() => answerTo(client, call, message), notTakenUp);
  }
  return answerTo(client, call, message);
}

/** Why a call that has left memory cannot be answered now. */
function notTakenUp(error: unknown): Received {
  if (error instanceof SessionNotContinuedError) return notTaken(error.message);
  if (!(error instanceof SessionLimitError)) throw error;
  return busy(undefined, error.message, LEGACY_ERRORS);
}

function answerTo(client: ClientSession, call: Call | undefined, message: RpcAnswer): Received {
  if (call?.lost) return notTaken(CALL_LOST);
  const id = String(message.id);
  const outcome = call?.session.respond(id, responseIn(client, call.session, message));
  // A late or repeated answer harms nobody; one to a question that was never put is a mistake.
  if (call && outcome !== "unknown") {
    const recorded = call.session.log.whenRecorded();
    return recorded ? { type: "accepted", recorded } : ACCEPTED;
  }
  return notTaken(
    `Cannot take the answer: no request "${id}" is waiting for one; it was answered, taken back or never sent`,
  );
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
