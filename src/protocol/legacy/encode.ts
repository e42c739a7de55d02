/**
 * What a tool session's events become for a client of the legacy era:
 *
 *   progress         notifications/progress, if the caller sent a token
 *   log              notifications/message, from the client's level upwards
 *   elicit_request   elicitation/create
 *   sample_request   sampling/createMessage
 *   roots_request    roots/list
 *   withdrawn        notifications/cancelled
 *   elicit_complete  notifications/elicitation/complete
 *   answer           nothing: the client said it
 *   task_started     nothing: this era has no such tasks
 *   result, error    the response to the call
 *   cancelled        nothing if the client did it, otherwise an error
 */
import type { McpMessage, MessageContent } from "../../content.ts";
import type { ElicitRequest, LogLevel, SampleParams, ToolSessionEvent } from "../../events.ts";
import {
  errorText,
  INTERNAL_ERROR,
  notificationText,
  requestText,
  resultText,
  type RpcId,
} from "../json-rpc.ts";
import { isAtLeast } from "../log-level.ts";
import { type LegacyVersion, since } from "../versions.ts";

/** What an event's form depends on besides the event. */
export interface LegacyCall {
  readonly id: RpcId;
  readonly version: LegacyVersion;
  readonly progressToken: RpcId | undefined;
  /** The least severe level that the client wants to hear. */
  readonly logLevel: LogLevel;
  /** The last progress that was sent, so that the next one is greater. */
  progress: number;
}

/** The message for an event, or nothing. */
export function encodeEvent(event: ToolSessionEvent, call: LegacyCall): string | undefined {
  switch (event.type) {
    case "progress":
      return encodeProgress(call, event.progress, event.total, event.message);
    case "log": {
      if (!isAtLeast(event.level, call.logLevel)) return undefined;
      const { level, data, logger } = event;
      return notificationText("notifications/message", {
        level,
        ...(logger !== undefined && { logger }),
        data: data ?? null,
      });
    }
    case "elicit_request":
      return requestText(event.id, "elicitation/create", elicitParams(event, call.version));
    case "sample_request":
      return requestText(event.id, "sampling/createMessage", sampleParams(event.params));
    case "roots_request":
      return requestText(event.id, "roots/list");
    case "withdrawn": {
      const { requestId, reason } = event;
      return notificationText("notifications/cancelled", { requestId, reason });
    }
    case "elicit_complete": {
      if (!since(call.version, "2025-11-25")) return undefined;
      const { elicitationId } = event;
      return notificationText("notifications/elicitation/complete", { elicitationId });
    }
    case "answer":
    case "task_started":
      return undefined;
    case "result":
      return resultText(call.id, event.result);
    case "error":
      return errorText(call.id, event.error);
    case "cancelled":
      if (event.by === "caller") return undefined;
      return errorText(call.id, {
        code: INTERNAL_ERROR,
        message: `Cannot finish the call: ${event.reason}; call again`,
      });
  }
}

/** Progress must grow with every notification, whatever the tool says. */
export function encodeProgress(
  call: LegacyCall,
  progress: number,
  total?: number,
  message?: string,
): string | undefined {
  if (call.progressToken === undefined) return undefined;
  call.progress = progress > call.progress ? progress : call.progress + LEAST_PROGRESS;
  return notificationText("notifications/progress", {
    progressToken: call.progressToken,
    progress: call.progress,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message }),
  });
}

const LEAST_PROGRESS = 0.001;

/** Before 2025-11-25 there was only one mode, and no word for it. */
function elicitParams({ params }: ElicitRequest, version: LegacyVersion): object {
  if (params.mode === "url" || since(version, "2025-11-25")) return params;
  const { message, requestedSchema } = params;
  return { message, requestedSchema };
}

/** One block stands for itself: older clients know no lists. */
function sampleParams(params: SampleParams): object {
  return { ...params, messages: params.messages.map(unwrapped) };
}

function unwrapped({ role, content }: McpMessage): {
  role: string;
  content: MessageContent | MessageContent[];
} {
  return { role, content: content.length === 1 ? content[0]! : content };
}
