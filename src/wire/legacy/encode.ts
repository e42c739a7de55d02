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
import {
  type ContentBlock,
  type EmbeddedResource,
  type ResourceLink,
  text,
  type TextContent,
} from "../../model/content.ts";
import type { CallResult, ElicitRequest, LogLevel, ToolSessionEvent } from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import { formParamsText, sensitiveMeta } from "../elicitation.ts";
import {
  errorText,
  notificationText,
  rawRequestText,
  requestText,
  resultText,
  type RpcId,
} from "../json-rpc.ts";
import { isAtLeast } from "../log-level.ts";
import { noticeEvent } from "../notice.ts";
import { type LegacyVersion, since } from "../versions.ts";
import { olderForm } from "./forms.ts";
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

/** The result, as far as the client can read it. */
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

/** The least step that shows up. */
const LEAST = 0.001;
/** Raised numbers that are remembered; more events than that are hardly ever kept. */
const MOST_RAISED = 10_000;

export class ProgressTrack {
  #last = -Infinity;
  #lastLSN = 0;
  /** What was told instead of what the tool said, by LSN. */
  #raised: Map<number, number> | undefined;

  /** The progress to tell for an event. */
  of(lsn: number, said: number): number {
    if (lsn <= this.#lastLSN) return this.#raised?.get(lsn) ?? said;
    this.#lastLSN = lsn;
    if (Number.isFinite(said) && said > this.#last) return this.#last = said;
    const raised = this.#raised ??= new Map();
    if (raised.size >= MOST_RAISED) raised.delete(raised.keys().next().value!);
    raised.set(lsn, this.beat());
    return this.#last;
  }

  /** The progress of a mere sign of life. */
  beat(): number {
    return this.#last = above(this.#last);
  }
}

function above(progress: number): number {
  if (progress === -Infinity) return 0;
  // Beyond some size a thousandth no longer makes a number greater.
  const step = Math.max(LEAST, Math.abs(progress) * (2 * Number.EPSILON));
  return Math.min(progress + step, Number.MAX_VALUE);
}
