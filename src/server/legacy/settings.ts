/** Requests that set up a client session: `initialize`, the log level, subscriptions. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
} from "../../model/rpc-codes.ts";
import { isLargerThan, MAX_CAPABILITIES_SIZE } from "../../wire/lengths.ts";
import { isLogLevel } from "../../wire/log-level.ts";
import { isLegacyVersion, LEGACY_VERSIONS } from "../../wire/versions.ts";
import { serverCapabilities } from "../catalog.ts";
import { MAX_SUBSCRIPTIONS, resourceAt } from "../run-target.ts";
import type { ClientSession } from "./client-session.ts";

/** Requests that change a client session. */
const OF_SESSIONS = new Set(["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

/** The result of a request that is neither a call nor a query. */
export function applySetting(
  client: ClientSession,
  method: string,
  params: JsonObject,
): JsonObject {
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
  // Capabilities stay in memory as long as the session, and any client can open a session.
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
  if (client.subscriptions.size >= MAX_SUBSCRIPTIONS && !client.subscriptions.has(uri)) {
    throw new ProtocolError(
      INVALID_REQUEST,
      `Cannot subscribe to "${uri}": there are ${MAX_SUBSCRIPTIONS} subscriptions; drop some first`,
    );
  }
  if (resourceAt(client.core, uri)) return uri;
  throw new ProtocolError(
    RESOURCE_NOT_FOUND,
    `Cannot subscribe to "${uri}": there is no such resource; list the resources to see which there are`,
    { uri },
  );
}
