/**
 * What a session becomes for a client of the modern era. Events that tell go out
 * as notifications; questions never go out by themselves, but all together, in a
 * result that asks for input.
 */
import type { JsonObject, McpMessage } from "../../model/content.ts";
import type {
  CallResult,
  LogLevel,
  ToolSessionEvent,
  ToolSessionRequest,
} from "../../model/events.ts";
import { cachedJson, formParamsText, sensitiveMeta } from "../elicitation.ts";
import { notificationText, type RpcId } from "../json-rpc.ts";
import { isAtLeast } from "../log-level.ts";
import { noticeEvent } from "../notice.ts";
import { SERVER_INFO } from "./meta.ts";

/** What a notification's form depends on besides the event. */
export interface ModernCall {
  readonly progressToken: RpcId | undefined;
  readonly logLevel: LogLevel | undefined;
  /** The last progress that was sent, so that the next one is greater. */
  progress: number;
}

const LEAST_PROGRESS = 0.001;

/** The notification for an event, or nothing. */
export function encodeNotification(event: ToolSessionEvent, call: ModernCall): string | undefined {
  switch (event.type) {
    case "progress": {
      const { progress, total, message } = event;
      return encodeProgress(call, progress, total, message);
    }
    case "log": {
      if (call.logLevel === undefined || !isAtLeast(event.level, call.logLevel)) return undefined;
      const { level, data, logger } = event;
      return notificationText("notifications/message", {
        level,
        ...(logger !== undefined && { logger }),
        data: data ?? null,
      });
    }
    default:
      return undefined;
  }
}

/** A notice about the call: a log message or, for a client that takes none, progress. */
export function encodeNotice(text: string, call: ModernCall): string | undefined {
  return encodeNotification({ ...noticeEvent(text), lsn: 0 }, call) ??
    encodeProgress(call, -Infinity, undefined, text);
}

/** Progress must grow with every notification, whatever the tool says. */
export function encodeProgress(
  call: ModernCall,
  progress: number,
  total?: number,
  message?: string,
): string | undefined {
  if (call.progressToken === undefined) return undefined;
  call.progress = Number.isFinite(progress) && progress > call.progress
    ? progress
    : above(call.progress);
  return notificationText("notifications/progress", {
    progressToken: call.progressToken,
    progress: call.progress,
    ...(Number.isFinite(total) && { total }),
    ...(message !== undefined && { message }),
  });
}

function above(progress: number): number {
  if (progress === -Infinity) return 0;
  // Beyond some size a thousandth no longer makes a number greater, and at the end nothing does.
  const step = Math.max(LEAST_PROGRESS, Math.abs(progress) * (2 * Number.EPSILON));
  return Math.min(progress + step, Number.MAX_VALUE);
}

/** The questions, by the names that their answers will carry. */
export function inputRequests(requests: readonly ToolSessionRequest[]): JsonObject {
  const inputs: JsonObject = {};
  for (const request of requests) inputs[request.name] = inputRequest(request);
  return inputs;
}

/** The same, as JSON. */
export function inputRequestsText(requests: readonly ToolSessionRequest[]): string {
  const inputs = requests.map((request) =>
    `${JSON.stringify(request.name)}:${inputRequestText(request)}`
  );
  return `{${inputs.join(",")}}`;
}

function inputRequestText(request: ToolSessionRequest): string {
  if (request.type !== "elicit_request" || request.params.mode !== "form") {
    return JSON.stringify(inputRequest(request));
  }
  const params = formParamsText(request.params, request.sensitive);
  return `{"method":"elicitation/create","params":${params}}`;
}

function inputRequest(request: ToolSessionRequest): object {
  switch (request.type) {
    case "elicit_request": {
      const { params, sensitive } = request;
      if (params.mode === "form") {
        return { method: "elicitation/create", params: { ...params, ...sensitiveMeta(sensitive) } };
      }
      // Some clients refuse a request without `elicitationId`; the others ignore it.
      const { mode, message, url, elicitationId } = params;
      return { method: "elicitation/create", params: { mode, message, url, elicitationId } };
    }
    case "sample_request": {
      const { params } = request;
      return {
        method: "sampling/createMessage",
        params: { ...params, messages: params.messages.map(unwrapped) },
      };
    }
    case "roots_request":
      return { method: "roots/list" };
  }
}

/** One block stands for itself, as in every revision before. */
function unwrapped({ role, content }: McpMessage): object {
  return { role, content: content.length === 1 ? content[0] : content };
}

/** How long, and by whom, a result may be kept. */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** A result in its modern dress. */
export function completeResult(
  result: CallResult | JsonObject,
  serverInfo: object,
  caching?: Caching,
): JsonObject {
  const { _meta, ...rest } = result;
  return {
    ...rest,
    ...caching,
    resultType: "complete",
    _meta: { ...(_meta as object | undefined), [SERVER_INFO]: serverInfo },
  };
}

/** The same, as JSON. */
export function completeResultText(
  result: CallResult | JsonObject,
  serverInfo: object,
  caching?: Caching,
): string {
  // Few results have any of these, and all others need not be copied.
  if (caching || "_meta" in result || "resultType" in result) {
    return JSON.stringify(completeResult(result, serverInfo, caching));
  }
  const json = JSON.stringify(result);
  const rest = json === "{}" ? "" : `${json.slice(1, -1)},`;
  return `{${rest}"resultType":"complete","_meta":${serverMetaText(serverInfo)}}`;
}

export function serverMetaText(serverInfo: object): string {
  return `{"${SERVER_INFO}":${cachedJson(serverInfo)}}`;
}
