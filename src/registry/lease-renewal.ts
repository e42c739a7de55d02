/**
 * Which sessions are alive whose record has not been renewed for some time: a store
 * forgets what nobody has written to, and cannot know who still has it in memory.
 */
import type { LiveToolSession } from "../session/tool-session.ts";

interface Renewal {
  readonly session: LiveToolSession;
  readonly at: number;
}

export class Renewals {
  /** By id; whose record was renewed longest ago stands first. */
  readonly #renewals = new Map<string, Renewal>();

  /** The record of a session is as good as new. */
  renewed(session: LiveToolSession, at: number): void {
    this.#renewals.delete(session.id);
    this.#renewals.set(session.id, { session, at });
  }

  /** It is not alive any more. */
  end(id: string): void {
    this.#renewals.delete(id);
  }

  /** The next one that was not renewed since then. Looks at no other. */
  nextBefore(then: number): LiveToolSession | undefined {
    for (const { session, at } of this.#renewals.values()) return at <= then ? session : undefined;
    return undefined;
  }
}
