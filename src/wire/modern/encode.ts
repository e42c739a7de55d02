/**
 * How a tool session is sent to a client of the modern era. Progress and log events are sent as
 * notifications. Questions are not sent one by one: all open questions go out together in a
 * result that asks for input.
 */
import { compactMessage, type JsonObject } from "../../model/content.ts";
import type {
  CallResult,
  LogLevel,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionRequest,
} from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import { cachedJson, formMeta, formParamsText } from "../elicitation.ts";
import { errorText, notificationText, rawResultText, type RpcId } from "../json-rpc.ts";
import { isAtLeast } from "../log-level.ts";
import { logText, noticeEvent } from "../notice.ts";
import { nextProgress } from "../progress.ts";
import { SERVER_INFO } from "./meta.ts";

/** The properties of a call that decide how its notifications are written. */
export interface ModernCall {
  readonly progressToken: RpcId | undefined;
  readonly logLevel: LogLevel | undefined;
  /** The last progress value that was sent. The next one must be greater. */
  progress: number;
}

/** Returns the notification for an event, or undefined if the event is not sent. */
export function encodeNotification(event: ToolSessionEvent, call: ModernCall): string | undefined {
  switch (event.type) {
    case "progress": {
      const { progress, total, message } = event;
      return encodeProgress(call, progress, total, message);
    }
    case "log":
      if (call.logLevel === undefined || !isAtLeast(event.level, call.logLevel)) return undefined;
      return logText(event);
    default:
      return undefined;
  }
}

/**
 * Returns a notice about the call: a log message, or a progress notification if the client does not
 * want log messages.
 */
export function encodeNotice(text: string, call: ModernCall): string | undefined {
  return encodeNotification({ ...noticeEvent(text), lsn: 0 }, call) ??
    encodeProgress(call, -Infinity, undefined, text);
}

/** Writes a progress notification. Raises the value if it is not higher than the one before. */
export function encodeProgress(
  call: ModernCall,
  progress: number,
  total?: number,
  message?: string,
): string | undefined {
  if (call.progressToken === undefined) return undefined;
  call.progress = Number.isFinite(progress) && progress > call.progress
    ? progress
    : nextProgress(call.progress);
  return notificationText("notifications/progress", {
    progressToken: call.progressToken,
    progress: call.progress,
    ...(Number.isFinite(total) && { total }),
    ...(message !== undefined && { message }),
  });
}

/** Returns the questions by name. The client sends its answers under the same names. */
export function inputRequests(requests: readonly ToolSessionRequest[], view?: string): JsonObject {
  const inputs: JsonObject = {};
  for (const request of requests) inputs[request.name] = inputRequest(request, view);
  return inputs;
}

/** Like `inputRequests`, as JSON text. `view` is the address of a view that can draw forms. */
export function inputRequestsText(
  requests: readonly ToolSessionRequest[],
  view?: string,
): string {
  let inputs = "";
  for (const request of requests) {
    inputs += `${inputs && ","}${JSON.stringify(request.name)}:${inputRequestText(request, view)}`;
  }
  return `{${inputs}}`;
}

function inputRequestText(request: ToolSessionRequest, view: string | undefined): string {
  if (request.type !== "elicit_request" || request.params.mode !== "form") {
    return JSON.stringify(inputRequest(request));
  }
  const params = formParamsText(request.params, request.sensitive, view);
  return `{"method":"elicitation/create","params":${params}}`;
}

function inputRequest(request: ToolSessionRequest, view?: string): object {
  switch (request.type) {
    case "elicit_request": {
      const { params, sensitive } = request;
      if (params.mode === "form") {
        return {
          method: "elicitation/create",
          params: { ...params, ...formMeta(sensitive, view) },
        };
      }
      // Some clients reject a request without `elicitationId`; others ignore the field.
      const { mode, message, url, elicitationId } = params;
      return { method: "elicitation/create", params: { mode, message, url, elicitationId } };
    }
    case "sample_request": {
      const { params } = request;
      return {
        method: "sampling/createMessage",
        params: { ...params, messages: params.messages.map(compactMessage) },
      };
    }
    case "roots_request":
      return { method: "roots/list" };
  }
}

/** How long a result may be cached, and whether shared caches may store it. */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** Adds the fields of the modern era to a result. */
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

/** Like `completeResult`, as JSON text. */
export function completeResultText(
  result: CallResult | JsonObject,
  serverInfo: object,
  caching?: Caching,
): string {
  // Only these results need a changed copy. All others are written as they are.
  if (caching || "_meta" in result || "resultType" in result) {
    return JSON.stringify(completeResult(result, serverInfo, caching));
  }
  const json = JSON.stringify(result);
  const rest = json === "{}" ? "" : `${json.slice(1, -1)},`;
  return `{${rest}"resultType":"complete","_meta":${serverMetaText(serverInfo)}}`;
}

function serverMetaText(serverInfo: object): string {
  return `{"${SERVER_INFO}":${cachedJson(serverInfo)}}`;
}

/** Writes the response to a call that has ended. */
export function outcomeText(
  serverInfo: object,
  id: RpcId,
  outcome: ToolSessionOutcome,
  caching?: Caching,
): string {
  switch (outcome.status) {
    case "completed":
      return completeText(serverInfo, id, outcome.result, caching);
    case "failed":
      return errorText(id, outcome.error);
    case "cancelled":
      return errorText(id, {
        code: INTERNAL_ERROR,
        message: `Cannot finish the call: ${outcome.reason}; call again`,
      });
  }
}

/** Writes the response to a call that waits for answers. */
export function inputRequiredText(
  serverInfo: object,
  id: RpcId,
  open: readonly ToolSessionRequest[],
  requestState: string,
  view?: string,
): string {
  return rawResultText(
    id,
    `{"resultType":"input_required","inputRequests":${inputRequestsText(open, view)},` +
      `"requestState":"${requestState}","_meta":${serverMetaText(serverInfo)}}`,
  );
}

/** Writes a response with a complete result. */
export function completeText(
  serverInfo: object,
  id: RpcId,
  result: CallResult | JsonObject,
  caching?: Caching,
): string {
  return rawResultText(id, completeResultText(result, serverInfo, caching));
}
