/**
 * Server-sent events as text. JSON text contains no line breaks, so each event needs one `data`
 * line.
 */

/** Writes an event. A client can resume after its `id`. */
export function frame(data: string, id?: string): string {
  return id === undefined
    ? `event: message\ndata: ${data}\n\n`
    : `event: message\nid: ${id}\ndata: ${data}\n\n`;
}

/** Writes an event without content, which gives the client an id and a reconnect delay. */
export function primingFrame(id: string, retry: number): string {
  return `id: ${id}\nretry: ${retry}\ndata: \n\n`;
}

/** A comment that keeps the connection open. Clients ignore it. */
export const KEEP_ALIVE = ": keep-alive\n\n";
