/**
 * Tasks (`io.modelcontextprotocol/tasks`): a tool session seen through another
 * window. The task's id is the session's; nothing about a task is kept elsewhere.
 */
import type { JsonObject } from "../../content.ts";
import { ProtocolError } from "../../errors.ts";
import type { Response } from "../../events.ts";
import { INVALID_PARAMS, isObject } from "../../protocol/json-rpc.ts";
import { completeResult, inputRequests } from "../../protocol/modern/encode.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { FinalizedMcpTool, McpToolTask } from "../../tool/types.ts";
import type { ServerCore } from "../core.ts";

const DEFAULT_TTL = 3_600_000;
const DEFAULT_POLL_INTERVAL = 1_000;

export function taskOf(session: LiveToolSession): McpToolTask | undefined {
  return (session.tool as FinalizedMcpTool).task;
}

/** Makes a task of a session: from now on it lives by its own clock. */
export function beginTask(core: ServerCore, session: LiveToolSession): void {
  const ttl = taskOf(session)?.ttl ?? DEFAULT_TTL;
  session.keepUntil = Math.max(session.keepUntil, session.createdAt + ttl);
  core.registry.hold(session);
  const expiry = core.deadlines.add(session.keepUntil - core.deadlines.now(), () => {
    session.halt("its time to live is over");
    core.registry.letGo(session);
  });
  const { owner } = session;
  session.owner = {
    ...owner,
    ended: (ended) => {
      expiry.cancel();
      core.registry.letGo(ended);
      owner?.ended?.(ended);
    },
  };
  // It may have ended in the same moment.
  if (session.outcome) session.owner.ended!(session);
}

/** The task as it stands, with what belongs to its status. */
export function detailedTask(core: ServerCore, session: LiveToolSession): JsonObject {
  const { outcome } = session;
  const base = taskFields(session);
  if (!outcome) {
    const open = session.openRequests();
    return open.length > 0 ? { ...base, inputRequests: inputRequests(open) } : base;
  }
  switch (outcome.status) {
    case "completed":
      return { ...base, result: completeResult(outcome.result, core.info) };
    case "failed":
      return { ...base, error: outcome.error };
    case "cancelled":
      return { ...base, statusMessage: outcome.reason };
  }
}

export function taskFields(session: LiveToolSession): JsonObject {
  const task = taskOf(session);
  return {
    taskId: session.id,
    status: statusOf(session),
    createdAt: new Date(session.createdAt).toISOString(),
    lastUpdatedAt: new Date(session.updatedAt).toISOString(),
    ttlMs: task?.ttl ?? DEFAULT_TTL,
    pollIntervalMs: task?.pollInterval ?? DEFAULT_POLL_INTERVAL,
  };
}

function statusOf(session: LiveToolSession): string {
  if (session.outcome) return session.outcome.status;
  return session.openRequests().length > 0 ? "input_required" : "working";
}

/** The task that a request names, if it is this caller's. */
export function findTask(
  core: ServerCore,
  params: JsonObject,
  principal: string,
): LiveToolSession {
  const { taskId } = params;
  const session = typeof taskId === "string" ? core.registry.find(taskId) : undefined;
  if (session && taskOf(session) && session.principal === principal) return session;
  throw new ProtocolError(
    INVALID_PARAMS,
    `Cannot find task "${taskId}": it has expired or never was; call the tool again`,
  );
}

/** Hands answers to a task. Those that nobody waits for are ignored. */
export function updateTask(session: LiveToolSession, { inputResponses }: JsonObject): void {
  if (!isObject(inputResponses)) {
    throw new ProtocolError(INVALID_PARAMS, "Cannot update the task: inputResponses is no object");
  }
  const answers = Object.entries(inputResponses).flatMap(([name, response]) => {
    const request = session.openRequests().find((open) => open.name === name);
    return request ? [{ requestId: request.id, response: response as Response }] : [];
  });
  session.respondAll(answers);
}
