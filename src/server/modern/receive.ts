/**
 * Requests of the modern era. Total: every request has a reply, and none of them is a throw.
 */
import type { Sealer } from "../../lib/sealer.ts";
import { type StartedOperation, startOperation } from "../../lib/start-operation.ts";
import type { JsonObject } from "../../model/content.ts";
import { RegistryClosedError } from "../../model/errors.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import { errorText, type RpcId, type RpcRequest } from "../../wire/json-rpc.ts";
import type { Caching } from "../../wire/modern/encode.ts";
import { declaresTasks, type RequestMeta, TASKS_EXTENSION } from "../../wire/modern/meta.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import { serverCapabilities } from "../catalog.ts";
import type { ServerCore } from "../core.ts";
import { QUERIES } from "../queries.ts";
import { type Caller, failed, later, type Reply, rpcErrorOf, value } from "../reply.ts";
import { targetOf } from "../run-target.ts";
import { ModernCalls, onceStored } from "./call.ts";
import { subscribe, type Subscription } from "./notification-stream.ts";
import { missingCapability, MODERN_ERRORS, TASKS_CAPABILITY, unknownMethod } from "./refusals.ts";
import { States } from "./request-state.ts";
import { completeText } from "./results.ts";
import { type Resumption, resumptionOf } from "./resume.ts";
import { detailedTask, findTask, updateTask } from "./tasks.ts";

/** What every request of this era says about itself, and who sends it. */
export interface RequestContext {
  readonly meta: RequestMeta;
  readonly caller: Caller;
}

/** Dispatches the requests of one server. */
export class ModernRequests {
  readonly #core: ServerCore;
  readonly #listCaching: Caching;
  readonly #calls: ModernCalls;
  readonly #states: States;
  readonly #queries = new Set<StartedOperation<JsonObject>>();
  /** Subscriptions that have a connection of their own. */
  readonly #subscriptions = new Set<Subscription>();

  constructor(core: ServerCore, sealer: Sealer, listCaching: Caching) {
    this.#core = core;
    this.#states = new States(sealer);
    this.#calls = new ModernCalls(core, this.#states);
    this.#listCaching = listCaching;
  }

  /** Brings the calls that a request continues back into memory first, if they have left it. */
  receive(request: RpcRequest, context: RequestContext): Reply {
    const { id } = request;
    const resumption = resumptionOf(this.#core, this.#states, request, context);
    const revived = resumption?.revived;
    if (!revived) return this.#receive(request, context, resumption);
    return later(
      revived,
      (failure) =>
        failure
          ? failed(this.#core, id, failure.error, MODERN_ERRORS)
          : this.#receive(request, context, resumption),
      { id },
    );
  }

  #receive(request: RpcRequest, context: RequestContext, resumption?: Resumption): Reply {
    try {
      return this.#dispatch(request, context, resumption);
    } catch (error) {
      return failed(this.#core, request.id, error, MODERN_ERRORS);
    }
  }

  /** Ends all subscriptions that have a connection of their own, with a response. */
  endSubscriptions(): void {
    for (const subscription of [...this.#subscriptions]) subscription.end();
  }

  /** Stops the queries that are under way, so that their clients are told. */
  stopQueries(): void {
    for (const query of [...this.#queries]) query.halt();
  }

  #dispatch(request: RpcRequest, context: RequestContext, resumption?: Resumption): Reply {
    const { id, method, params } = request;
    const core = this.#core;
    const offered = serverCapabilities(core);
    const family = FAMILIES[method.slice(0, method.indexOf("/"))];
    if (family && !(family in offered)) throw unknownMethod(method);
    const target = targetOf(core, method, params, INVALID_PARAMS);
    if (target) return this.#calls.run(request, target, context, resumption);
    const query = QUERIES[method];
    if (query) {
      return this.#query(
        id,
        method,
        startOperation(core.registry.scope, () => query(core, params)),
      );
    }
    switch (method) {
      case "server/discover":
        return value(completeText(core, id, this.#discovered(offered), this.#listCaching));
      case "subscriptions/listen": {
        const stream = subscribe(core, this.#subscriptions, id, params, context);
        return { type: "stream", stream };
      }
      case "tasks/get":
      case "tasks/update":
      case "tasks/cancel": {
        const session = this.#taskIn(params, context);
        const text = completeText(core, id, this.#task(method, params, session));
        return onceStored(core, id, session, text);
      }
    }
    throw unknownMethod(method);
  }

  #discovered(capabilities: JsonObject): JsonObject {
    const { instructions, catalog } = this.#core;
    const tasks = [...catalog.tools.values()].some((tool) => tool.task);
    return {
      supportedVersions: [MODERN_VERSION],
      capabilities: {
        ...capabilities,
        logging: {},
        ...(tasks && { extensions: { [TASKS_EXTENSION]: {} } }),
      },
      ...(instructions !== undefined && { instructions }),
    };
  }

  #taskIn(params: JsonObject, { meta, caller }: RequestContext): LiveToolSession {
    if (!declaresTasks(meta.client)) throw missingCapability(TASKS_CAPABILITY);
    return findTask(this.#core, params, caller.principal);
  }

  #task(method: string, params: JsonObject, session: LiveToolSession): JsonObject {
    switch (method) {
      case "tasks/update":
        updateTask(session, params);
        return {};
      case "tasks/cancel":
        session.halt("cancelled by the client", "caller");
        return {};
      default:
        return detailedTask(this.#core, session);
    }
  }

  #query(id: RpcId, method: string, query: StartedOperation<JsonObject>): Reply {
    const caching = method === "completion/complete" ? undefined : this.#listCaching;
    const text = (outcome: StartedOperation<JsonObject>["outcome"]) => {
      if (outcome?.type !== "returned") {
        throw outcome?.type === "threw" ? outcome.error : new RegistryClosedError();
      }
      return completeText(this.#core, id, outcome.value, caching);
    };
    if (query.outcome) return value(text(query.outcome));
    this.#queries.add(query);
    const ended = query.ended().then(text)
      .catch((error) => errorText(id, rpcErrorOf(this.#core, error)))
      .finally(() => this.#queries.delete(query));
    return later(ended, value, { id, leave: () => query.halt() });
  }
}

/** Which capability a method belongs to, for those that are only there if something is offered. */
const FAMILIES: { readonly [prefix: string]: string | undefined } = {
  // Methods come from outside, and must not find what every object has.
  __proto__: null as never,
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  completion: "completions",
};
