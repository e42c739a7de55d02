/**
 * What happens to a message of a legacy client. Total: every message has an
 * outcome, and none of them is a throw. How the outcome travels is the
 * transport's business.
 */
import type { Operation } from "effection";
import type { JsonObject } from "../../content.ts";
import { ProtocolError, RegistryClosed, SessionLimitError } from "../../errors.ts";
import type { ClientCapabilities, Response } from "../../events.ts";
import {
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isObject,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
  resultText,
  type RpcAnswer,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
} from "../../protocol/json-rpc.ts";
import { isLogLevel } from "../../protocol/log-level.ts";
import { isLegacyVersion, LEGACY_VERSIONS } from "../../protocol/versions.ts";
import { Strand } from "../../runtime/strand.ts";
import { errorResult } from "../../tool/result.ts";
import { QUERIES } from "../queries.ts";
import { missingCapabilities, type Target, targetOf } from "../runs.ts";
import { Call } from "./call.ts";
import type { ClientSession } from "./client-session.ts";
import { serverCapabilities } from "../capabilities.ts";

export type Received =
  /** Taken; there is nothing to say. */
  | { readonly type: "accepted" }
  /** Not taken, and the client should know. */
  | { readonly type: "refused"; readonly problem: string }
  /** Not taken now. */
  | {
    readonly type: "busy";
    readonly id: RpcId;
    readonly problem: string;
    readonly lasting: boolean;
  }
  | { readonly type: "reply"; readonly text: string }
  | { readonly type: "later"; readonly text: Promise<string> }
  | { readonly type: "call"; readonly call: Call };

const ACCEPTED: Received = { type: "accepted" };

export function receive(client: ClientSession, message: RpcMessage): Received {
  client.lastSeen = client.core.deadlines.now();
  switch (message.type) {
    case "request":
      return request(client, message);
    case "notification":
      return notification(client, message);
    case "answer":
      return answer(client, message);
    case "invalid":
      return message.id === undefined
        ? { type: "refused", problem: `Cannot read the message: ${message.problem}` }
        : reply(errorText(message.id, {
          code: INVALID_REQUEST,
          message: `Cannot read the message: ${message.problem}`,
        }));
  }
}

function request(client: ClientSession, { id, method, params }: RpcRequest): Received {
  try {
    const target = targetOf(client.core, method, params, RESOURCE_NOT_FOUND);
    if (target) return call(client, id, target, params);
    const query = QUERIES[method];
    if (query) return answered(client, id, () => query(client.core, params));
    return reply(resultText(id, simple(client, method, params)));
  } catch (error) {
    return failed(client, id, error);
  }
}

/** The requests that are answered from what is at hand. */
function simple(client: ClientSession, method: string, params: JsonObject): JsonObject {
  switch (method) {
    case "ping":
      return {};
    case "initialize":
      return initialize(client, params);
    case "logging/setLevel":
      if (!isLogLevel(params.level)) {
        throw new ProtocolError(
          INVALID_PARAMS,
          `Cannot set the log level: "${params.level}" is none`,
        );
      }
      client.logLevel = params.level;
      return {};
    case "resources/subscribe":
      client.subscriptions.add(uriOf(client, params));
      return {};
    case "resources/unsubscribe":
      client.subscriptions.delete(String(params.uri));
      return {};
    default:
      throw new ProtocolError(METHOD_NOT_FOUND, `Cannot ${method}: this server has no such method`);
  }
}

function initialize(client: ClientSession, params: JsonObject): JsonObject {
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== "string" || !isObject(capabilities) || !isObject(clientInfo)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot initialize: protocolVersion, capabilities or clientInfo is missing",
    );
  }
  const version = isLegacyVersion(protocolVersion) ? protocolVersion : LEGACY_VERSIONS[0];
  client.introduce(version, clientInfo, capabilities as ClientCapabilities);
  const { info, instructions } = client.core;
  return {
    protocolVersion: version,
    capabilities: { ...serverCapabilities(client.core), logging: {} },
    serverInfo: { ...info },
    ...(instructions !== undefined && { instructions }),
  };
}

function uriOf(client: ClientSession, { uri }: JsonObject): string {
  if (typeof uri === "string" && client.core.catalog.findResource(uri)) return uri;
  throw new ProtocolError(
    RESOURCE_NOT_FOUND,
    `Cannot subscribe to "${uri}": there is no such resource`,
    { uri },
  );
}

function call(client: ClientSession, id: RpcId, target: Target, params: JsonObject): Received {
  if (client.calls.has(id)) {
    throw new ProtocolError(
      INVALID_REQUEST,
      `Cannot start call ${JSON.stringify(id)}: one with this id is under way; use another id`,
    );
  }
  const { maxCallsPerClient } = client.core.limits;
  if (client.calls.size >= maxCallsPerClient) {
    const problem = `Cannot start a call: ${maxCallsPerClient} are under way already; wait for one`;
    return { type: "busy", id, problem, lasting: false };
  }
  const { definition, args } = target;
  const missing = missingCapabilities(definition, client.info);
  if (missing) {
    const what = Object.keys(missing).join(" and ");
    const who = client.info.name ?? "this client";
    return reply(resultText(
      id,
      errorResult(
        `Cannot run ${definition.kind} "${definition.name}": it needs ${what}, which ${who} does not support; use a client that does`,
      ),
    ));
  }
  const { _meta: meta } = params;
  const call = new Call(id, client, isObject(meta) ? meta : undefined);
  client.calls.set(id, call);
  const session = client.core.registry.open(definition, args, { client: client.info }, call);
  call.session = session;
  if (!session.outcome) client.callsBySession.set(session.id, call);
  return { type: "call", call };
}

/** Runs a query, and answers at once if it did not have to wait. */
function answered(
  client: ClientSession,
  id: RpcId,
  query: () => Operation<JsonObject>,
): Received {
  let text: string | undefined;
  let settle: ((text: string) => void) | undefined;
  new Strand(client.core.registry.scope, query, (outcome) => {
    text = outcome.type === "returned"
      ? resultText(id, outcome.value)
      : errorOf(client, id, outcome.type === "threw" ? outcome.error : new RegistryClosed());
    settle?.(text);
  }).start();
  if (text !== undefined) return reply(text);
  return { type: "later", text: new Promise((resolve) => settle = resolve) };
}

function notification(client: ClientSession, { method, params }: RpcNotification): Received {
  if (method === "notifications/cancelled") {
    const call = client.calls.get(params.requestId as RpcId);
    const { reason } = params;
    call?.session.halt(typeof reason === "string" ? reason : "cancelled by the client", "caller");
  }
  return ACCEPTED;
}

/** The id of a request of ours names the session that asked. */
function answer(client: ClientSession, message: RpcAnswer): Received {
  const id = String(message.id);
  const sessionId = id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"));
  const session = client.callsBySession.get(sessionId)?.session;
  const response = "error" in message ? { error: message.error } : message.result;
  const outcome = session?.respond(id, response as unknown as Response) ?? "unknown";
  // A late or repeated answer harms nobody; one to a question that was never put is a mistake.
  if (outcome !== "unknown") return ACCEPTED;
  return {
    type: "refused",
    problem: `Cannot take the answer: no request "${id}" is waiting for one`,
  };
}

function failed(client: ClientSession, id: RpcId, error: unknown): Received {
  if (error instanceof SessionLimitError || error instanceof RegistryClosed) {
    client.calls.delete(id);
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
    sessionId: client.id,
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
