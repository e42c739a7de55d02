/**
 * The calls that a request goes on with and that are not in memory: in a store, or in
 * what the client carries. Bringing them back has begun when this returns.
 */
import { isObject } from "../../lib/json.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import { type RpcRequest } from "../../wire/json-rpc.ts";
import type { ServerCore } from "../core.ts";
import { targetOf } from "../run-target.ts";
import { wantedTasks } from "./notification-stream.ts";
import type { Asking } from "./receive.ts";
import type { States } from "./request-state.ts";

export function absentCalls(
  core: ServerCore,
  states: States,
  { method, params }: RpcRequest,
  { principal, meta }: Asking,
): Promise<unknown>[] {
  const { registry, deadlines, carriesRecords } = core;
  const { requestState, taskId, notifications } = params;
  // Whose it is comes first: taking it up stops whoever has it, and runs it.
  const takeUpOwn = (ids: readonly string[]) =>
    ids.filter((id) => !registry.find(id)).map(async (id) => {
      if (await registry.principalOf(id) === principal) await registry.lookup(id);
    });
  if (method.startsWith("tasks/")) return typeof taskId === "string" ? takeUpOwn([taskId]) : [];
  if (method === "subscriptions/listen") {
    return isObject(notifications) ? takeUpOwn(wantedTasks(notifications)) : [];
  }
  if (requestState === undefined) return [];
  const binding = { principal, method, params };
  const state = states.open(requestState, binding, deadlines.now());
  if (!state) return [];
  const { sessionId, lsn, record } = state;
  if (!record) {
    const found = registry.lookup(sessionId, lsn);
    return found instanceof Promise ? [found] : [];
  }
  try {
    const target = carriesRecords && targetOf(core, method, params, INVALID_PARAMS);
    if (!target || !target.definition.durable?.sealed) return [];
    const { definition, args } = target;
    const call = { sessionId, definition, params: args, client: meta.client, principal };
    return [registry.adopt(record, call)];
  } catch (error) {
    return [Promise.reject(error)];
  }
}
