/** A registry on a manual clock, and helpers for its sessions. */
import type { Operation } from "effection";
import {
  createManualClock,
  type FinalizedMcpTool,
  type ManualClock,
  type ToolResult,
  type ToolSessionEvent,
  type ToolSessionOutcome,
} from "../../src/mod.ts";
import { useLiveRegistry } from "../../src/registry/use-registry.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { handleOf } from "../support/registry.ts";

export interface Live {
  readonly clock: ManualClock;
  readonly faults: unknown[];
  /** Starts a tool; it runs up to its first wait. */
  open(tool: FinalizedMcpTool, params?: unknown): LiveToolSession;
}

/** Lives as long as the test. */
export function* useLive(): Operation<Live> {
  const clock = createManualClock();
  const faults: unknown[] = [];
  const registry = yield* useLiveRegistry({
    clock,
    report: ({ error }) => faults.push(error),
  });
  return { clock, faults, open: (tool, params = {}) => registry.open(tool, params) };
}

/** Waits for the end of a session. */
export function* outcomeOf(session: LiveToolSession): Operation<ToolSessionOutcome> {
  const events = yield* handleOf(session).getEvents();
  for (;;) {
    const { done, value } = yield* events.next();
    if (done) return value;
  }
}

/** Waits for the text of a session's result. */
export function* textOf(session: LiveToolSession): Operation<string> {
  const outcome = yield* outcomeOf(session);
  if (outcome.status !== "completed") return outcome.status;
  const [block] = (outcome.result as ToolResult).content;
  return block?.type === "text" ? block.text : "";
}

/** Waits until exactly these questions are open, named `branch:key`. */
export function* questions(session: LiveToolSession, ...wanted: string[]): Operation<void> {
  const events = yield* handleOf(session).getEvents();
  for (;;) {
    const open = session.openRequests().map(({ place }) => `${place.branch}:${place.key}`);
    if (open.join() === wanted.join()) return;
    const { done } = yield* events.next();
    if (done) throw new Error(`It ended before it asked ${wanted.join()}`);
  }
}

/** Answers the open question that was asked in this branch. */
export function accept(session: LiveToolSession, branch: string, content: object): string {
  const request = session.openRequests().find(({ place }) => place.branch === branch);
  if (!request) throw new Error(`No question is open in branch "${branch}"`);
  return session.respond(request.id, { action: "accept", content: { ...content } });
}

/** The events so far, each in a few words. */
export function told(events: readonly ToolSessionEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case "withdrawn":
        return `withdrawn: ${event.reason}`;
      case "progress":
        return `progress ${event.progress}/${event.total ?? ""} ${event.message ?? ""}`;
      case "log":
        return `${event.level} ${JSON.stringify(event.data)}`;
      default:
        return event.type;
    }
  });
}
