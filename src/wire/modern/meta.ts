/** Reads `params._meta`, in which every request of the modern era describes its client. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientCapabilities, ClientInfo, LogLevel, TraceContext } from "../../model/events.ts";
import { type RpcId, traceIn } from "../json-rpc.ts";
import {
  bytesLeft,
  cut,
  MAX_CAPABILITIES_SIZE,
  MAX_ID_LENGTH,
  MAX_NAME_LENGTH,
} from "../lengths.ts";
import { isLogLevel } from "../log-level.ts";

const PREFIX = "io.modelcontextprotocol/";
export const PROTOCOL_VERSION = `${PREFIX}protocolVersion`;
export const CLIENT_INFO = `${PREFIX}clientInfo`;
export const CLIENT_CAPABILITIES = `${PREFIX}clientCapabilities`;
export const LOG_LEVEL = `${PREFIX}logLevel`;
export const SERVER_INFO = `${PREFIX}serverInfo`;
export const SUBSCRIPTION_ID = `${PREFIX}subscriptionId`;

export const TASKS_EXTENSION = `${PREFIX}tasks`;

export interface RequestMeta {
  readonly version: string;
  readonly client: ClientInfo;
  /** The lowest log level that the client wants. If undefined, no log messages are sent. */
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: RpcId | undefined;
  readonly trace: TraceContext;
}

/** True if a request names a protocol version in `_meta`, as requests of the modern era do. */
export function claimsModern(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && PROTOCOL_VERSION in params._meta;
}

/** Returns the revision that a request names, if it names one. */
export function claimedVersion({ _meta: meta }: JsonObject): string | undefined {
  const version = isObject(meta) ? meta[PROTOCOL_VERSION] : undefined;
  return typeof version === "string" ? version : undefined;
}

/** A problem with `_meta`. `wayOut` is the next step. Default: send the missing field. */
export interface WrongMeta {
  readonly problem: string;
  readonly wayOut?: string;
}

/** Reads the metadata of a request. Returns a `WrongMeta` if the metadata is not valid. */
export function readMeta(params: JsonObject): RequestMeta | WrongMeta {
  const { _meta: meta } = params;
  if (!isObject(meta)) return { problem: "params._meta is missing" };
  const version = claimedVersion(params);
  if (version === undefined) return { problem: `_meta["${PROTOCOL_VERSION}"] is missing` };
  const capabilities = meta[CLIENT_CAPABILITIES];
  if (!isObject(capabilities)) return { problem: `_meta["${CLIENT_CAPABILITIES}"] is missing` };
  if (bytesLeft(capabilities, MAX_CAPABILITIES_SIZE) < 0) {
    const most = `${MAX_CAPABILITIES_SIZE} bytes`;
    return {
      problem: `_meta["${CLIENT_CAPABILITIES}"] is larger than ${most}`,
      wayOut: "declare fewer capabilities",
    };
  }
  const info = meta[CLIENT_INFO] ?? {};
  if (!isObject(info)) return { problem: `_meta["${CLIENT_INFO}"] is not an object` };
  const level = meta[LOG_LEVEL];
  if (level !== undefined && !isLogLevel(level)) {
    return { problem: `_meta["${LOG_LEVEL}"] is not a log level` };
  }
  const { name, version: clientVersion } = info;
  const { progressToken } = meta;
  if (typeof progressToken === "string" && progressToken.length > MAX_ID_LENGTH) {
    const problem = `_meta.progressToken is longer than ${MAX_ID_LENGTH} characters`;
    return { problem, wayOut: "send a shorter token" };
  }
  return {
    version,
    client: {
      ...(typeof name === "string" && { name: cut(name, MAX_NAME_LENGTH) }),
      ...(typeof clientVersion === "string" && { version: cut(clientVersion, MAX_NAME_LENGTH) }),
      protocolVersion: version,
      capabilities: declaredCapabilities(capabilities),
    },
    logLevel: level,
    progressToken: typeof progressToken === "string" || Number.isInteger(progressToken)
      ? progressToken as RpcId
      : undefined,
    trace: traceIn(meta),
  };
}

/** Reads the declared capabilities, and ignores values that are not objects. */
function declaredCapabilities(declared: JsonObject): ClientCapabilities {
  // Fast path: every request declares capabilities, and they are nearly always valid.
  if (
    holdsObjects(declared.elicitation) && holdsObjects(declared.sampling) &&
    holdsObjects(declared.extensions) && (declared.roots === undefined || isObject(declared.roots))
  ) return declared;
  const { elicitation, sampling, roots, extensions, ...others } = declared;
  return {
    ...others,
    ...(isObject(elicitation) && { elicitation: objectsIn(elicitation) }),
    ...(isObject(sampling) && { sampling: objectsIn(sampling) }),
    ...(isObject(roots) && { roots }),
    ...(isObject(extensions) && { extensions: objectsIn(extensions) }),
  };
}

/** True if a value is undefined, or an object whose values are all objects. */
function holdsObjects(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isObject(value)) return false;
  for (const key in value) if (!isObject(value[key])) return false;
  return true;
}

function objectsIn(declared: JsonObject): { [name: string]: JsonObject } {
  const found = Object.entries(declared).filter(([, value]) => isObject(value));
  return Object.fromEntries(found) as { [name: string]: JsonObject };
}

export function declaresTasks({ capabilities: { extensions } }: ClientInfo): boolean {
  return extensions !== undefined && Object.hasOwn(extensions, TASKS_EXTENSION);
}
