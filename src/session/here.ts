/** A session that somebody holds on to, wherever it is: it may have left memory and be back. */
import { action, type Operation } from "effection";
import type { SessionHome } from "./session-home.ts";
import type { LiveToolSession } from "./tool-session.ts";

/** The session as it is in memory, taken up again if it has left. */
export function* here(session: LiveToolSession, home: SessionHome): Operation<LiveToolSession> {
  if (!session.suspending || session.outcome) return session;
  return (yield* home.takenUp(session.id)) ?? session;
}

/** The same, once a question of it that waits on record waits here too. */
export function* asking(
  requestId: string,
  session: LiveToolSession,
  home: SessionHome,
): Operation<LiveToolSession> {
  const found = yield* here(session, home);
  if (found === session) return session;
  const named = ({ id }: { readonly id: string }) => id === requestId;
  while (
    !found.outcome && !found.suspending && found.log.unanswered().some(named) &&
    !found.openRequests().some(named)
  ) yield* action<void>((resolve) => found.log.watch(resolve));
  return found;
}
