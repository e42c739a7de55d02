/**
 * Finds the calls that a request continues: the call of its `requestState`, or the tasks that it
 * names. Calls that are not in memory are loaded from the store, or from the record in the state.
 */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import { type RpcRequest } from "../../wire/json-rpc.ts";
import type { ServerCore } from "../core.ts";
import { ticketIn } from "../doors/continue-call.ts";
import { ANSWER_CALL, CONTINUE_CALL } from "../doors/door-tools.ts";
import { targetOf } from "../run-target.ts";
import { scopeOf } from "./call.ts";
import { wantedTasks } from "./notification-stream.ts";
import type { RequestContext } from "./receive.ts";
import type { RequestState, States } from "./request-state.ts";

/** The calls that a request continues. */
export interface Resumption {
  /** The opened request state. Undefined if the state is not valid. */
  readonly state?: RequestState | undefined;
  /** Present while calls are being loaded. Resolves to the error, if loading fails. */
  readonly revived?: Promise<{ readonly error: unknown } | undefined> | undefined;
}

/** Starts to load the calls that a request continues. Undefined if the request continues none. */
export function resumptionOf(
  core: ServerCore,
  states: States,
  request: RpcRequest,
  context: RequestContext,
): Resumption | undefined {
  const { method, params } = request;
  const { requestState, taskId, notifications } = params;
  if (method.startsWith("tasks/")) {
    return typeof taskId === "string" ? reviveTasks(core, [taskId], context) : undefined;
  }
  if (method === "subscriptions/listen") {
    return isObject(notifications)
      ? reviveTasks(core, wantedTasks(notifications), context)
      : undefined;
  }
  const { principal } = context.caller;
  if (requestState === undefined) {
    const { name } = params;
    if (method === "resources/read") return reviveReading(core, params, context);
    if (method !== "tools/call" || name !== CONTINUE_CALL.name && name !== ANSWER_CALL.name) {
      return undefined;
    }
    const ticket = ticketIn(core, params, principal);
    return ticket && { revived: reviveCall(core, request, context, ticket) };
  }
  const state = states.open(requestState, { principal, method, params }, core.deadlines.now());
  return { state, revived: state && reviveCall(core, request, context, state) };
}

/** Loads tasks. Checks the owner first, because loading takes a task from the server that runs it. */
function reviveTasks(
  { registry }: ServerCore,
  ids: readonly string[],
  { caller: { principal } }: RequestContext,
): Resumption | undefined {
  const absent = ids.filter((id) => !registry.find(id));
  if (absent.length === 0) return undefined;
  const revived = absent.map(async (id) => {
    if (await registry.principalOf(id) === principal) await registry.lookup(id);
  });
  return { revived: settled(Promise.all(revived)) };
}

/** Loads the run of an earlier read of the same resource. */
function reviveReading(
  { readings, registry }: ServerCore,
  { uri }: JsonObject,
  context: RequestContext,
): Resumption | undefined {
  const id = readings.find(uri, scopeOf(context), context.caller.principal);
  const found = id === undefined ? undefined : registry.lookup(id);
  return found instanceof Promise ? { revived: settled(found) } : undefined;
}

function reviveCall(
  core: ServerCore,
  { method, params }: RpcRequest,
  { meta, caller }: RequestContext,
  { sessionId, lsn, record }: RequestState,
): Resumption["revived"] {
  const { registry, carriesRecords } = core;
  if (!record) {
    const found = registry.lookup(sessionId, lsn);
    return found instanceof Promise ? settled(found) : undefined;
  }
  try {
    const target = carriesRecords && targetOf(core, method, params, INVALID_PARAMS, caller);
    if (!target || !target.definition.durable?.sealed) return undefined;
    const { definition, args } = target;
    const call = {
      sessionId,
      definition,
      params: args,
      client: meta.client,
      principal: caller.principal,
    };
    return settled(registry.adopt(record, call));
  } catch (error) {
    return Promise.resolve({ error });
  }
}

async function settled(
  revived: Promise<unknown>,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await revived;
    return undefined;
  } catch (error) {
    return { error };
  }
}
