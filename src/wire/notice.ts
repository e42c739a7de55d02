/** Log messages, and notices of the server about a call, for both eras. */
import type { EventBody } from "../model/events.ts";
import { notificationText } from "./json-rpc.ts";

type LogEvent = Extract<EventBody, { type: "log" }>;

/** Writes a log event as a notification. */
export function logText({ level, data, logger }: LogEvent): string {
  return notificationText("notifications/message", {
    level,
    ...(logger !== undefined && { logger }),
    data: data ?? null,
  });
}

/** The notice that events were dropped before the client read them. */
export function lostNotice(count: number): string {
  return `${count} events were lost: they arrived faster than they were read`;
}

/** Returns a notice as a log event. */
export function noticeEvent(text: string): LogEvent {
  return { type: "log", level: "warning", logger: "parley", data: text };
}
