/** What every request of the modern era says about itself, in `params._meta`. */
import type { JsonObject } from "../../content.ts";
import type { ClientCapabilities, ClientInfo, LogLevel } from "../../events.ts";
import { isObject, type RpcId } from "../json-rpc.ts";
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
  /** The caller's place in a distributed trace, as it was given. */
  readonly trace: {
    readonly traceparent?: string;
    readonly tracestate?: string;
    readonly baggage?: string;
  };
}

/** Whether a request claims to be of this era. */
export function claimsModern(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && PROTOCOL_VERSION in params._meta;
}

/** Reads it, or says what is wrong with it. */
export function readMeta(params: JsonObject): RequestMeta | { readonly problem: string } {
  const { _meta: meta } = params;
  if (!isObject(meta)) return { problem: "params._meta is missing" };
  const version = meta[PROTOCOL_VERSION];
  if (typeof version !== "string") return { problem: `_meta["${PROTOCOL_VERSION}"] is missing` };
  const capabilities = meta[CLIENT_CAPABILITIES];
  if (!isObject(capabilities)) return { problem: `_meta["${CLIENT_CAPABILITIES}"] is missing` };
  const info = meta[CLIENT_INFO] ?? {};
  if (!isObject(info)) return { problem: `_meta["${CLIENT_INFO}"] is no object` };
  const level = meta[LOG_LEVEL];
  if (level !== undefined && !isLogLevel(level)) {
    return { problem: `_meta["${LOG_LEVEL}"] is no log level` };
  }
  const { name, version: clientVersion } = info;
  const { progressToken } = meta;
  return {
    version,
    client: {
      ...(typeof name === "string" && { name }),
      ...(typeof clientVersion === "string" && { version: clientVersion }),
      protocolVersion: version,
      capabilities: capabilities as ClientCapabilities,
    },
    logLevel: level,
    progressToken: typeof progressToken === "string" || typeof progressToken === "number"
      ? progressToken
      : undefined,
    trace: {
      ...text(meta, "traceparent"),
      ...text(meta, "tracestate"),
      ...text(meta, "baggage"),
    },
  };
}

function text(meta: JsonObject, key: string): { [key: string]: string } {
  const value = meta[key];
  return typeof value === "string" ? { [key]: value } : {};
}

export function declaresTasks({ capabilities }: ClientInfo): boolean {
  return isObject(capabilities.extensions) && TASKS_EXTENSION in capabilities.extensions;
}
