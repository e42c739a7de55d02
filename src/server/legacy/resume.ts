/** Resumes a stream after the last event that the client received. */
import { INVALID_REQUEST } from "../../model/rpc-codes.ts";
import type { CheckedCaller } from "../access.ts";
import { later, refusalOf, refused, type Reply } from "../reply.ts";
import type { ClientSession } from "./client-session.ts";
import { NOTIFICATIONS } from "./notification-stream.ts";
import { noRoom, notTaken } from "./refusals.ts";
import { Reconnection } from "./reply.ts";
import { CallStream, parsePosition } from "./stream.ts";

export function resumeStream(
  client: ClientSession,
  lastEventId: string,
  caller: CheckedCaller,
): Reply {
  const position = parsePosition(lastEventId);
  if (!position) {
    return notTaken(
      `Cannot resume after "${lastEventId}": it is not an event id of this server; remove the Last-Event-ID header`,
    );
  }
  const { stream, cursors } = position;
  const feed = stream === NOTIFICATIONS ? client.notifications : client.streams.get(stream);
  const resume = (): Reply => {
    for (const { tool } of feed instanceof CallStream ? feed.calls : []) {
      // A call without a tool was lost in a restart. The client only learns that it is lost.
      const refusal = tool && refusalOf(client.core, tool, caller);
      if (refusal) return refusal;
    }
    if (feed?.canResumeAt(cursors)) {
      return { type: "stream", stream: new Reconnection(client, feed, cursors) };
    }
    // Status 405 stops all known clients from retrying.
    const problem =
      `Cannot resume after "${lastEventId}": there are no more events; do not reconnect`;
    return refused(405, INVALID_REQUEST, problem, undefined, { allow: "POST, GET, DELETE" });
  };
  if (!(feed instanceof CallStream)) return resume();
  const revived = Promise.all(feed.calls.map((call) => call.revive())).then(
    () => undefined,
    noRoom,
  );
  return later(revived, (refused) => refused ?? resume());
}
