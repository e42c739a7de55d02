/** Waits for the events of a call. */
import type { LiveToolSession } from "../../../src/session/tool-session.ts";

/** The first event of a type, once it is there. */
export async function event(session: LiveToolSession, type: string) {
  for (let lsn = 0;; lsn++) {
    while (!session.log.next(lsn)) {
      await new Promise<void>((resolve) => {
        const unwatch = session.log.watch(() => {
          unwatch();
          resolve();
        });
      });
    }
    const found = session.log.next(lsn)!;
    if (found.type === type) return found;
  }
}
