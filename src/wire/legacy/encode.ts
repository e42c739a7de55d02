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
 *   begun, fact      nothing: they are for the tool, should it be run again
 *   task_started     nothing: this era has no such tasks
 *   result, error    the response to the call
 *   cancelled        nothing if the client did it, otherwise an error
 */
import type { ElicitRequest, LogLevel, ToolSessionEvent } from "../../model/events.ts";
import {
  errorText,
  INTERNAL_ERROR,
  notificationText,
  rawRequestText,
  requestText,
  resultText,
  type RpcId,
} from "../json-rpc.ts";
import { noticeEvent } from "../notice.ts";
import { isAtLeast } from "../log-level.ts";
import { type LegacyVersion, since } from "../versions.ts";
import { resultFor } from "./content.ts";
import { olderForm } from "./forms.ts";
import { sensitiveMeta } from "../sensitive.ts";
import { formParamsText } from "../cached-json.ts";
import type { ProgressTrack } from "./progress.ts";
import { sampleParams, type SampleReader } from "./sampling.ts";

/** What an event's form depends on besides the event. */
export interface LegacyCall extends SampleReader {
  readonly id: RpcId;
  readonly progressToken: RpcId | undefined;
  /** The least severe level that the client wants to hear. */
  readonly logLevel: LogLevel;
  readonly progress: ProgressTrack;
  /** Whether the client declared URL elicitation. */
  readonly usesUrls: boolean;
}

/** The message for an event, or nothing. */
export function encodeEvent(event: ToolSessionEvent, call: LegacyCall): string | undefined {
  switch (event.type) {
    case "progress": {
      const { lsn, progress, total, message } = event;
      if (call.progressToken === undefined) return undefined;
      return progressText(call.progressToken, call.progress.of(lsn, progress), total, message);
    }
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
      return rawRequestText(event.id, "elicitation/create", elicitParams(event, call.version));
    case "sample_request":
      return requestText(event.id, "sampling/createMessage", sampleParams(event.params, call));
    case "roots_request":
      return requestText(event.id, "roots/list");
    case "withdrawn": {
      const { requestId, reason } = event;
      return notificationText("notifications/cancelled", { requestId, reason });
    }
    case "elicit_complete": {
      if (!call.usesUrls) return undefined;
      const { elicitationId } = event;
      return notificationText("notifications/elicitation/complete", { elicitationId });
    }
    case "answer":
    case "begun":
    case "fact":
    case "task_started":
    case "cancelling":
      return undefined;
    case "result":
      return resultText(call.id, resultFor(call.version, event.result));
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

/** A sign that the call is alive, if its caller asked to hear of progress. */
export function encodeHeartbeat({ progressToken, progress }: LegacyCall): string | undefined {
  return progressToken === undefined ? undefined : progressText(progressToken, progress.beat());
}

/** A notice about the call: a log message or, for a client that takes none, progress. */
export function encodeNotice(text: string, call: LegacyCall): string | undefined {
  const log = encodeEvent({ ...noticeEvent(text), lsn: 0 }, call);
  if (log !== undefined || call.progressToken === undefined) return log;
  return progressText(call.progressToken, call.progress.beat(), undefined, text);
}

function progressText(
  progressToken: RpcId,
  progress: number,
  total?: number,
  message?: string,
): string {
  return notificationText("notifications/progress", {
    progressToken,
    progress,
    ...(Number.isFinite(total) && { total }),
    ...(message !== undefined && { message }),
  });
}

/** As JSON. Before 2025-11-25 there was only one mode, and no word for it. */
function elicitParams({ params, sensitive }: ElicitRequest, version: LegacyVersion): string {
  if (params.mode === "url") return JSON.stringify(params);
  if (since(version, "2025-11-25")) return formParamsText(params, sensitive);
  const { message, requestedSchema } = params;
  return JSON.stringify({
    message,
    requestedSchema: olderForm(requestedSchema),
    ...sensitiveMeta(sensitive),
  });
}
