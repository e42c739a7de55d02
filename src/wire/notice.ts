/** Notices of the server about a call, shared by both eras. */
import type { EventBody } from "../model/events.ts";

/** The notice for events that were dropped before a reader read them. */
export function lostNotice(count: number): string {
  return `${count} events were lost: they arrived faster than they were read`;
}

/** Returns a notice as a log event. */
export function noticeEvent(text: string): Extract<EventBody, { type: "log" }> {
  return { type: "log", level: "warning", logger: "parley", data: text };
}
