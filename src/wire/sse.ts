/** Server-sent events, as text. JSON never contains a bare line break, so one line is enough. */

/** An event; `id` is where a client may resume. */
export function frame(data: string, id?: string): string {
  return id === undefined
    ? `event: message\ndata: ${data}\n\n`
    : `event: message\nid: ${id}\ndata: ${data}\n\n`;
}

/** An event without content, for its id and the time to wait before coming back. */
export function primingFrame(id: string, retry: number): string {
  return `id: ${id}\nretry: ${retry}\ndata: \n\n`;
}

/** Something to keep the line from falling silent. Clients ignore it. */
export const KEEP_ALIVE = ": keep-alive\n\n";
