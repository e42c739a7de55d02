/** What every request of the modern era says about itself, in `params._meta`. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientCapabilities, ClientInfo, LogLevel, TraceContext } from "../../model/events.ts";
import { type RpcId, traceIn } from "../json-rpc.ts";
import { cut, isLargerThan, LONGEST_CAPABILITIES, LONGEST_ID, LONGEST_NAME } from "../lengths.ts";
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
  /** Nothing is logged to a client that does not ask for it. */
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: RpcId | undefined;
  readonly trace: TraceContext;
}

/** Whether a request claims to be of this era. */
export function claimsModern(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && PROTOCOL_VERSION in params._meta;
}

/** The revision that a request says it speaks, if it says so at all. */
export function claimedVersion({ _meta: meta }: JsonObject): string | undefined {
  const version = isObject(meta) ? meta[PROTOCOL_VERSION] : undefined;
  return typeof version === "string" ? version : undefined;
}

/** What is wrong, and what to do instead of sending it along, where that is something else. */
export interface WrongMeta {
  readonly problem: string;
  readonly wayOut?: string;
}

/** Reads it, or says what is wrong with it. */
export function readMeta(params: JsonObject): RequestMeta | WrongMeta {
  const { _meta: meta } = params;
  if (!isObject(meta)) return { problem: "params._meta is missing" };
  const version = claimedVersion(params);
  if (version === undefined) return { problem: `_meta["${PROTOCOL_VERSION}"] is missing` };
  const capabilities = meta[CLIENT_CAPABILITIES];
  if (!isObject(capabilities)) return { problem: `_meta["${CLIENT_CAPABILITIES}"] is missing` };
  if (isLargerThan(capabilities, LONGEST_CAPABILITIES)) {
    const most = `${LONGEST_CAPABILITIES} bytes`;
    return {
      problem: `_meta["${CLIENT_CAPABILITIES}"] take more than ${most}`,
      wayOut: "declare fewer",
    };
  }
  const info = meta[CLIENT_INFO] ?? {};
  if (!isObject(info)) return { problem: `_meta["${CLIENT_INFO}"] is no object` };
  const level = meta[LOG_LEVEL];
  if (level !== undefined && !isLogLevel(level)) {
    return { problem: `_meta["${LOG_LEVEL}"] is no log level` };
  }
  const { name, version: clientVersion } = info;
  const { progressToken } = meta;
  if (typeof progressToken === "string" && progressToken.length > LONGEST_ID) {
    const problem = `_meta.progressToken is longer than ${LONGEST_ID} characters`;
    return { problem, wayOut: "send a shorter one" };
  }
  return {
    version,
    client: {
      ...(typeof name === "string" && { name: cut(name, LONGEST_NAME) }),
      ...(typeof clientVersion === "string" && { version: cut(clientVersion, LONGEST_NAME) }),
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

/** Only an object declares anything. */
function declaredCapabilities(declared: JsonObject): ClientCapabilities {
  // Said with every request, and nearly always as it should be.
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

/** Whether something is left out, or an object of nothing but objects. */
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
