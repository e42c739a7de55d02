/** Whether the answers of a session that are sealed can be opened. */
import { SessionSealed } from "../model/errors.ts";
import type { ToolSessionEvent } from "../model/events.ts";
import type { LiveToolSession } from "./tool-session.ts";

/**
 * Throws before a session is run whose answers this server cannot open: run, it would fail for
 * good, and with the key that it had it would not.
 */
export function checkSeals(session: LiveToolSession, events: readonly ToolSessionEvent[]): void {
  for (const event of events) {
    if (event.type !== "answer" || event.sealed === undefined) continue;
    if (session.sealer?.openBytes(event.sealed, event.requestId) === undefined) {
      throw new SessionSealed(session.id, session.toolName);
    }
  }
}
