/** What the server itself has to say about a call, in words that both eras use. */
import type { EventBody } from "../model/events.ts";

/** Events were dropped before a reader took them. */
export function lostNotice(count: number): string {
  return `${count} events are lost: they came faster than they were read`;
}

/** A notice as the log message that it is sent as, to those who take log messages. */
export function noticeEvent(text: string): Extract<EventBody, { type: "log" }> {
  return { type: "log", level: "warning", logger: "parley", data: text };
}
