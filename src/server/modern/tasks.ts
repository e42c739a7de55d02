/**
 * Tasks (`io.modelcontextprotocol/tasks`): a tool session seen through another
 * window. The task's id is the session's; nothing about a task is kept elsewhere.
 */
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { McpToolTask } from "../../tool/settings.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import { completeResult, inputRequests } from "../../wire/modern/encode.ts";
import type { ServerCore } from "../core.ts";
import { readAnswers } from "./answers.ts";

const DEFAULT_TTL = 3_600_000;
const DEFAULT_POLL_INTERVAL = 1_000;

/** Sessions that live by a task's clock, in this server. */
const tended = new WeakSet<LiveToolSession>();

/** Whether it is a task, or its tool has said that it shall be one. */
export function isTask({ taskSince, log }: LiveToolSession): boolean {
  return taskSince !== undefined ||
    log.findLast(({ type }) => type === "task_started") !== undefined;
}

/** Makes a task of a session, if it is none yet: from now on it lives by its own clock. */
export function beginTask(core: ServerCore, session: LiveToolSession): void {
  const expires = session.becomeTask() + termsOf(session).ttl;
  if (session.needsCaller || session.keepUntil < expires) {
    // It goes on whether anybody looks at it or not.
    session.goOnAlone();
    core.registry.promise(session, expires);
    core.registry.noteChange(session);
  }
  tend(core, session);
}

/** Holds a task until its time is over, also one that was taken up again. */
export function tend({ deadlines, registry }: ServerCore, session: LiveToolSession): void {
  if (session.taskSince === undefined || session.outcome || tended.has(session)) return;
  tended.add(session);
  registry.hold(session);
  const left = session.taskSince + termsOf(session).ttl - deadlines.now();
  const expiry = deadlines.add(Math.max(0, left), () => session.halt("its time to live is over"));
  session.belongTo({
    ended() {
      expiry.cancel();
      registry.letGo(session);
    },
    left() {
      expiry.cancel();
    },
  });
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
      return { ...base, statusMessage: outcome.error.message, error: outcome.error };
    case "cancelled":
      return { ...base, statusMessage: outcome.reason };
  }
}

export function taskFields(session: LiveToolSession): JsonObject {
  const { ttl, pollInterval } = termsOf(session);
  return {
    taskId: session.id,
    status: statusOf(session),
    createdAt: new Date(session.taskSince ?? session.createdAt).toISOString(),
    lastUpdatedAt: new Date(session.updatedAt).toISOString(),
    ttlMs: ttl,
    pollIntervalMs: pollInterval,
  };
}

function termsOf({ tool }: LiveToolSession): Required<Pick<McpToolTask, "ttl" | "pollInterval">> {
  const { task } = tool as FinalizedMcpTool;
  return {
    ttl: task?.ttl ?? DEFAULT_TTL,
    pollInterval: task?.pollInterval ?? DEFAULT_POLL_INTERVAL,
  };
}

function statusOf(session: LiveToolSession): string {
  if (session.outcome) return session.outcome.status;
  return session.openRequests().length > 0 ? "input_required" : "working";
}

/** The task with an id, if it is this caller's. */
export function taskOf(
  core: ServerCore,
  taskId: unknown,
  principal: string,
): LiveToolSession | undefined {
  const session = typeof taskId === "string" ? core.registry.find(taskId) : undefined;
  if (!session || !isTask(session) || session.principal !== principal) return undefined;
  beginTask(core, session);
  return session;
}

/** The task that a request names. */
export function findTask(
  core: ServerCore,
  { taskId }: JsonObject,
  principal: string,
): LiveToolSession {
  const session = taskOf(core, taskId, principal);
  if (session) return session;
  throw new ProtocolError(
    INVALID_PARAMS,
    "Cannot find the task: it has expired or never was; call the tool again",
  );
}

/** Hands answers to a task. Those that nobody waits for are ignored. */
export function updateTask(session: LiveToolSession, { inputResponses }: JsonObject): void {
  const open = session.openRequests();
  const answers = readAnswers(inputResponses).flatMap(([name, response]) => {
    const request = open.find((one) => one.name === name);
    return request ? [{ requestId: request.id, response }] : [];
  });
  session.respondAll(answers);
}
