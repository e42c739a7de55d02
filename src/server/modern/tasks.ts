/**
 * Tasks (`io.modelcontextprotocol/tasks`). A task is a view of a tool session: the task id is the
 * session id, and the session holds all of the task's state.
 */
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { McpToolTask } from "../../tool/settings.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import { completeResult, inputRequests } from "../../wire/modern/encode.ts";
import type { ToolSessionRequest } from "../../model/events.ts";
import type { ServerCore } from "../core.ts";
import { defer } from "../doors/deferral.ts";
import { asSent, canDefer, clientAnswer, holdTime, travelling } from "../doors/travel.ts";
import { formViewOf } from "../views.ts";
import { readAnswers } from "./answers.ts";

const DEFAULT_TTL = 3_600_000;
const DEFAULT_POLL_INTERVAL = 1_000;

/** Tasks whose time to live this server is already watching. */
const tended = new WeakSet<LiveToolSession>();

/** True if a session is a task, or if its tool has asked to make it a task. */
export function isTask({ taskSince, log }: LiveToolSession): boolean {
  return taskSince !== undefined ||
    log.findLast(({ type }) => type === "task_started") !== undefined;
}

/** Makes a session a task, if it is not one yet. The task's time to live starts now. */
export function beginTask(core: ServerCore, session: LiveToolSession): void {
  const expires = session.becomeTask() + termsOf(session).ttl;
  if (session.needsCaller || session.keepUntil < expires) {
    // A task keeps running while no client is connected.
    session.goOnAlone();
    core.registry.promise(session, expires);
    core.registry.noteChange(session);
  }
  tend(core, session);
}

/**
 * Keeps a task in memory until it ends, and halts it when its time to live is over. Calling this
 * again has no effect.
 */
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

/** The current state of a task, including its result, its error or its open questions. */
export function detailedTask(core: ServerCore, session: LiveToolSession): JsonObject {
  const { outcome } = session;
  const base = taskFields(session);
  if (!outcome) {
    const deferral = deferralOf(core, session);
    if (deferral) return { ...base, status: "completed", result: deferral };
    const open = sentQuestions(core, session);
    if (open.length === 0) return base;
    return {
      ...base,
      inputRequests: inputRequests(open, formViewOf(session.tool, session.client)),
    };
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

/** The open questions of a task that its client can answer. */
function sentQuestions(core: ServerCore, session: LiveToolSession): ToolSessionRequest[] {
  return travelling(core, session, session.openRequests(), session.client)
    .map((request) => asSent(core, session, request));
}

/** Deferrals of tasks. They are kept, because each new one would look like a change. */
const deferrals = new WeakMap<LiveToolSession, { readonly lsn: number; readonly of: JsonObject }>();

/**
 * The deferral that completes a task, if its client can answer none of its questions. A task that
 * was completed stays completed; its run continues under its ticket.
 */
function deferralOf(core: ServerCore, session: LiveToolSession): JsonObject | undefined {
  const { client, log: { lastLSN: lsn } } = session;
  const open = session.openRequests();
  if (!session.deferred) {
    if (open.length === 0 || sentQuestions(core, session).length > 0) return undefined;
    if (!canDefer(session, open, client)) return undefined;
    if (holdTime(core, session, client, false) > 0 && core.places.isOpening(session)) {
      return undefined;
    }
  }
  const known = deferrals.get(session);
  if (known?.lsn === lsn) return known.of;
  const of = completeResult(defer(core, session, client), core.info);
  deferrals.set(session, { lsn, of });
  return of;
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

/** Finds a task by id. Undefined if there is no such task, or if another principal owns it. */
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

/** Finds the task that a request names. Throws if there is no such task. */
export function findTask(
  core: ServerCore,
  { taskId }: JsonObject,
  principal: string,
): LiveToolSession {
  const session = taskOf(core, taskId, principal);
  if (session) return session;
  throw new ProtocolError(
    INVALID_PARAMS,
    "Cannot find the task: it has expired or never existed; call the tool again",
  );
}

/** Passes answers to a task. Answers that match no open question are ignored. */
export function updateTask(
  core: ServerCore,
  session: LiveToolSession,
  { inputResponses }: JsonObject,
): void {
  const open = session.openRequests();
  const answers = readAnswers(inputResponses).flatMap(([name, response]) => {
    const request = open.find((one) => one.name === name);
    return request ? clientAnswer(core, session, request, response) ?? [] : [];
  });
  session.respondAll(answers);
}
