/**
 * How events of a tool session are sent to a client of the legacy era:
 *
 *   progress         notifications/progress, if the caller sent a token
 *   log              notifications/message, at or above the client's level
 *   elicit_request   elicitation/create
 *   sample_request   sampling/createMessage
 *   roots_request    roots/list
 *   withdrawn        notifications/cancelled (the question was withdrawn)
 *   elicit_complete  notifications/elicitation/complete
 *   answer           not sent: it came from the client
 *   begun, fact      not sent: they are for replays
 *   task_started     not sent: the legacy era has no such tasks
 *   result, error    the response to the call
 *   cancelled        not sent if the client cancelled; otherwise an error
 */
import {
  type ContentBlock,
  type EmbeddedResource,
  type ResourceLink,
  text,
  type TextContent,
} from "../../model/content.ts";
import type { CallResult, ElicitRequest, LogLevel, ToolSessionEvent } from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import { formMeta, formParamsText } from "../elicitation.ts";
import {
  errorText,
  notificationText,
  rawRequestText,
  requestText,
  resultText,
  type RpcId,
} from "../json-rpc.ts";
import { isAtLeast } from "../log-level.ts";
import { logText, noticeEvent } from "../notice.ts";
import { nextProgress } from "../progress.ts";
import { type LegacyVersion, since } from "../versions.ts";
import { olderForm } from "./forms.ts";
import { sampleParams, type SampleReader } from "./sampling.ts";

/** The properties of a call that decide how its messages are written. */
export interface LegacyCall extends SampleReader {
  readonly id: RpcId;
  readonly progressToken: RpcId | undefined;
  /** The lowest log level that the client wants. */
  readonly logLevel: LogLevel;
  readonly progress: ProgressTrack;
  /** True if the client declared URL elicitation. */
  readonly usesUrls: boolean;
  /** The URI of the view with which the client draws forms. */
  readonly formView?: string | undefined;
}

/** Returns the message for an event, or undefined if the event is not sent. */
export function encodeEvent(event: ToolSessionEvent, call: LegacyCall): string | undefined {
  switch (event.type) {
    case "progress": {
      const { lsn, progress, total, message } = event;
      if (call.progressToken === undefined) return undefined;
      return progressText(call.progressToken, call.progress.of(lsn, progress), total, message);
    }
    case "log":
      return isAtLeast(event.level, call.logLevel) ? logText(event) : undefined;
    case "elicit_request":
      return rawRequestText(event.id, "elicitation/create", elicitParams(event, call));
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

/**
 * Returns a progress notification that tells the client that the call still runs. Undefined if the
 * caller sent no progress token.
 */
export function encodeHeartbeat(
  { progressToken, progress }: LegacyCall,
  message?: string,
): string | undefined {
  if (progressToken === undefined) return undefined;
  return progressText(progressToken, progress.beat(), undefined, message);
}

/**
 * Returns a notice about the call: a log message, or a progress notification if the client does not
 * want log messages.
 */
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

/**
 * Returns the parameters of an elicitation as JSON. Revisions before 2025-11-25 know only forms, and
 * have no `mode` field.
 */
function elicitParams(
  { params, sensitive }: ElicitRequest,
  { version, formView }: Pick<LegacyCall, "version" | "formView">,
): string {
  if (params.mode === "url") return JSON.stringify(params);
  if (since(version, "2025-11-25")) return formParamsText(params, sensitive, formView);
  const { message, requestedSchema } = params;
  return JSON.stringify({
    message,
    requestedSchema: olderForm(requestedSchema),
    ...formMeta(sensitive),
  });
}

/** Returns the result in a form that the client's revision supports. */
export function resultFor(version: LegacyVersion, result: CallResult): CallResult {
  if (since(version, "2025-06-18")) return result;
  if ("content" in result) {
    return { ...result, content: result.content.map((block) => blockFor(version, block)) };
  }
  if ("messages" in result) {
    const messages = result.messages.map((message) => ({
      ...message,
      content: blockFor(version, message.content),
    }));
    return { ...result, messages };
  }
  return result;
}

function blockFor(version: LegacyVersion, block: ContentBlock): ContentBlock {
  if (block.type === "resource_link") return written(block);
  if (block.type !== "audio" || since(version, "2025-03-26")) return block;
  const { data, mimeType, annotations } = block;
  const attached: EmbeddedResource = {
    type: "resource",
    resource: { uri: "attachment:audio", mimeType, blob: data },
    ...(annotations && { annotations }),
  };
  return attached;
}

function written({ name, title, uri, description }: ResourceLink): TextContent {
  return text([`${title ?? name}: ${uri}`, description].filter(Boolean).join("\n"));
}

/** How many raised values are kept. The log of a call rarely has more events. */
const MAX_RAISED = 10_000;

export class ProgressTrack {
  #last = -Infinity;
  #lastLSN = 0;
  /** Values that were sent instead of the values that the tool reported, by LSN. */
  #raised: Map<number, number> | undefined;

  /**
   * Returns the progress value to send for an event. Values must increase. An event that is sent
   * again has the same value as before.
   */
  of(lsn: number, said: number): number {
    if (lsn <= this.#lastLSN) return this.#raised?.get(lsn) ?? said;
    this.#lastLSN = lsn;
    if (Number.isFinite(said) && said > this.#last) return this.#last = said;
    const raised = this.#raised ??= new Map();
    if (raised.size >= MAX_RAISED) raised.delete(raised.keys().next().value!);
    raised.set(lsn, this.beat());
    return this.#last;
  }

  /** Returns the progress value of a heartbeat. */
  beat(): number {
    return this.#last = nextProgress(this.#last);
  }
}
