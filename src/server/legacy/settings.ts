/** Handles requests that configure a client session: `initialize`, log level, subscriptions. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
} from "../../model/rpc-codes.ts";
import { bytesLeft, MAX_CAPABILITIES_SIZE } from "../../wire/lengths.ts";
import { isLogLevel } from "../../wire/log-level.ts";
import { isLegacyVersion, LEGACY_VERSIONS } from "../../wire/versions.ts";
import type { CheckedCaller } from "../access.ts";
import { capabilitiesFor } from "../catalog.ts";
import { MAX_SUBSCRIPTIONS, resourceAt } from "../run-target.ts";
import type { ClientSession } from "./client-session.ts";

/** Requests that change a client session. */
const OF_SESSIONS = new Set(["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

/** Handles a request that is neither a call nor a query. Returns its result. */
export function applySetting(
  client: ClientSession,
  method: string,
  params: JsonObject,
  caller: CheckedCaller,
): JsonObject {
  if (client.sessionless && OF_SESSIONS.has(method)) {
    throw new ProtocolError(
      INVALID_REQUEST,
      `Cannot serve "${method}": the request has no session id; send initialize first, and add the Mcp-Session-Id that it returns to every request`,
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
          "Cannot set the log level: the level is unknown; send a level from debug to emergency",
        );
      }
      client.logLevel = params.level;
      client.changed = true;
      return {};
    case "resources/subscribe":
      client.subscribe(uriOf(client, params, caller));
      client.changed = true;
      return {};
    case "resources/unsubscribe":
      client.unsubscribe(params.uri as string);
      client.changed = true;
      return {};
    default:
      throw new ProtocolError(
        METHOD_NOT_FOUND,
        `Cannot serve "${method}": there is no such method; check the capabilities of the server`,
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
  if (bytesLeft(capabilities, MAX_CAPABILITIES_SIZE) < 0) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot initialize: the capabilities are larger than ${MAX_CAPABILITIES_SIZE} bytes; declare fewer`,
    );
  }
  const version = isLegacyVersion(protocolVersion) ? protocolVersion : LEGACY_VERSIONS[0];
  const offered = capabilitiesFor(client.core, { capabilities });
  client.introduce(version, clientInfo, capabilities, offered);
  const { info, instructions } = client.core;
  return {
    protocolVersion: version,
    capabilities: offered,
    serverInfo: { ...info },
    ...(instructions !== undefined && { instructions }),
  };
}

function uriOf(client: ClientSession, { uri }: JsonObject, caller: CheckedCaller): string {
  if (typeof uri !== "string") {
    throw new ProtocolError(INVALID_PARAMS, "Cannot subscribe: the uri is missing; add it");
  }
  if (client.subscriptions.size >= MAX_SUBSCRIPTIONS && !client.subscriptions.has(uri)) {
    throw new ProtocolError(
      INVALID_REQUEST,
      `Cannot subscribe to "${uri}": the limit of ${MAX_SUBSCRIPTIONS} subscriptions is reached; unsubscribe from other resources first`,
    );
  }
  const found = resourceAt(client.core, uri, caller);
  if (found) {
    client.core.access.check(found.resource, caller);
    return uri;
  }
  throw new ProtocolError(
    RESOURCE_NOT_FOUND,
    `Cannot subscribe to "${uri}": there is no such resource; list the resources to see which exist`,
    { uri },
  );
}
