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
import {
  ProtocolError,
  RegistryClosedError,
  SessionLimitError,
  SessionNotContinuedError,
} from "../../model/errors.ts";
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
  missingCapabilities,
  MOST_SUBSCRIPTIONS,
  resourceAt,
  type Target,
  targetOf,
} from "../run-target.ts";
import { Call, CALL_LOST } from "./call.ts";
import type { ClientSession } from "./client-session.ts";

/** What these change belongs to a session. */
const OF_SESSIONS = new Set(["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

export type Received =
  | Settled
  /** Not known yet: something has to be brought back first. */
  | { readonly type: "soon"; readonly received: Promise<Settled> };

export type Settled =
  /** Taken; there is nothing to say. That may be said once it is `recorded`, where it is. */
  | { readonly type: "accepted"; readonly recorded?: Promise<boolean> }
  /** Not taken, and the client should know; with an id, where it may wait for an answer. */
  | { readonly type: "refused"; readonly id: RpcId | undefined; readonly problem: string }
  /** Not taken now. */
  | {
    readonly type: "busy";
    readonly id: RpcId | undefined;
    readonly problem: string;
    readonly lasting: boolean;
  }
  | { readonly type: "reply"; readonly text: string }
  | { readonly type: "later"; readonly text: Promise<string> }
  | { readonly type: "call"; readonly call: Call };

const ACCEPTED: Settled = { type: "accepted" };

export function receive(client: ClientSession, message: RpcMessage): Received {
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
      return {
        type: "refused",
        id,
        problem: `Cannot read the message: ${problem}; send JSON-RPC 2.0`,
      };
    }
  }
}

function request(client: ClientSession, message: RpcRequest, looked = false): Received {
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
    return reply(resultText(id, simple(client, method, params)));
  } catch (error) {
    return failed(client, id, error);
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
): Received | undefined {
  const { id } = message;
  const { maxCallsPerClientSession } = client.core.limits;
  const isFull = client.calls.size + client.queries.size >= maxCallsPerClientSession;
  const isTwice = client.isAnswering(id);
  if (!isFull && !isTwice) return undefined;
  const absent = looked ? [] : client.absentInTheWayOf(id);
  if (absent.length > 0) {
    const seen = Promise.allSettled(absent.map((call) => call.takeUp()));
    return { type: "soon", received: seen.then(() => request(client, message, true) as Settled) };
  }
  if (isTwice) {
    const message = `Cannot start request ${
      JSON.stringify(id)
    }: one with this id is under way; use another id`;
    return reply(errorText(id, { code: INVALID_REQUEST, message }));
  }
  const problem =
    `Cannot start a call: ${maxCallsPerClientSession} are under way already; wait for one`;
  return { type: "busy", id, problem, lasting: false };
}

function call(client: ClientSession, id: RpcId, target: Target, params: JsonObject): Received {
  const { definition, args } = target;
  const missing = missingCapabilities(definition, client.info);
  if (missing) return reply(incapable(client, id, definition, missing));
  const { task } = definition as FinalizedMcpTool;
  if (task?.required) return reply(incapable(client, id, definition, { [TASKS_EXTENSION]: {} }));
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
  const settling = startOperation(client.core.registry.scope, query);
  if (settling.outcome) return reply(textOf(client, id, settling.outcome));
  client.queries.set(id, settling);
  const text = settling.ended().then((outcome) => {
    client.queries.delete(id);
    return textOf(client, id, outcome);
  });
  return { type: "later", text };
}

function textOf(client: ClientSession, id: RpcId, outcome: StrandOutcome<JsonObject>): string {
  switch (outcome.type) {
    case "returned":
      return resultText(id, outcome.value);
    case "threw":
      return errorOf(client, id, outcome.error);
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
function answer(client: ClientSession, message: RpcAnswer): Received {
  const id = String(message.id);
  const sessionId = id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"));
  const call = client.callsBySession.get(sessionId);
  const takenUp = call?.takeUp();
  if (call && takenUp) {
    const received = takenUp.then(() => answerTo(client, call, message), notTakenUp);
    return { type: "soon", received };
  }
  return answerTo(client, call, message);
}

/** Why a call that has left memory cannot be answered now. */
function notTakenUp(error: unknown): Settled {
  if (error instanceof SessionNotContinuedError) {
    return { type: "refused", id: undefined, problem: error.message };
  }
  if (!(error instanceof SessionLimitError)) throw error;
  return { type: "busy", id: undefined, problem: error.message, lasting: true };
}

function answerTo(client: ClientSession, call: Call | undefined, message: RpcAnswer): Settled {
  if (call?.lost) return { type: "refused", id: undefined, problem: CALL_LOST };
  const id = String(message.id);
  const outcome = call?.session.respond(id, responseIn(client, call.session, message));
  // A late or repeated answer harms nobody; one to a question that was never put is a mistake.
  if (call && outcome !== "unknown") {
    const recorded = call.session.log.whenRecorded();
    return recorded ? { type: "accepted", recorded } : ACCEPTED;
  }
  return {
    type: "refused",
    id: undefined,
    problem:
      `Cannot take the answer: no request "${id}" is waiting for one; it was answered, taken back or never sent`,
  };
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

function failed(client: ClientSession, id: RpcId, error: unknown): Received {
  if (error instanceof SessionLimitError || error instanceof RegistryClosedError) {
    return { type: "busy", id, problem: error.message, lasting: true };
  }
  return reply(errorOf(client, id, error));
}

function errorOf(client: ClientSession, id: RpcId, error: unknown): string {
  if (error instanceof ProtocolError) {
    const { rpcCode: code, message, data } = error;
    return errorText(id, { code, message, data });
  }
  client.core.registry.report({
    what: "a request failed",
    toolName: "-",
    // Not the client's: whoever reads it in a log could pass for the client.
    sessionId: "-",
    error,
  });
  return errorText(id, {
    code: INTERNAL_ERROR,
    message: "Cannot answer: the server failed; its log has the details",
  });
}

function reply(text: string): Received {
  return { type: "reply", text };
}
