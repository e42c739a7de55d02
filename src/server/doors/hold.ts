/** Keeps a request open for a while before it ends with a deferral. */
import type { Deadline } from "../../lib/deadlines.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";

/** How long questions of concurrent branches are collected, in milliseconds. */
export const QUIET_WINDOW = 20;

/** The first progress message of a request that waits for the person. */
export const WAITS_FOR_PERSON = "Waiting for the person's answer";

export class Hold {
  readonly #session: LiveToolSession;
  #since: number | undefined;
  #deadline: Deadline | undefined;
  #endsAt = 0;

  constructor(session: LiveToolSession) {
    this.#session = session;
  }

  /** True if the request has been kept open for `ms`. If not, wakes its readers after that time. */
  isOver(ms: number): boolean {
    const { deadlines, log } = this.#session;
    const now = deadlines.now();
    const end = (this.#since ??= now) + ms;
    if (now >= end) return true;
    if (this.#deadline && this.#endsAt === end) return false;
    this.cancel();
    this.#endsAt = end;
    this.#deadline = deadlines.add(end - now, () => {
      this.#deadline = undefined;
      log.stir();
    });
    return false;
  }

  cancel(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }
}
