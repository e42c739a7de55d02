/**
 * Server-sent events as text. JSON text contains no line breaks, so each event needs one `data`
 * line.
 */

/** Writes an event. If it has an `id`, a client can resume the stream after it. */
export function frame(data: string, id?: string): string {
  return id === undefined
    ? `event: message\ndata: ${data}\n\n`
    : `event: message\nid: ${id}\ndata: ${data}\n\n`;
}

/** Writes an event without data. It tells the client an event id and the delay before reconnecting. */
export function primingFrame(id: string, retry: number): string {
  return `id: ${id}\nretry: ${retry}\ndata: \n\n`;
}

/** A comment that keeps the connection open. Clients ignore it. */
export const KEEP_ALIVE = ": keep-alive\n\n";
