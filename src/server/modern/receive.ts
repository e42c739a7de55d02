/**
 * The modern era: requests are stateless, and each one describes its client. Every message gets a
 * reply; `receive` never throws.
 */
import { type StartedOperation, startOperation } from "../../lib/start-operation.ts";
import type { JsonObject } from "../../model/content.ts";
import { RegistryClosedError } from "../../model/errors.ts";
import type { ClientInfo, RpcError } from "../../model/events.ts";
import {
  HEADER_MISMATCH,
  INVALID_PARAMS,
  INVALID_REQUEST,
  UNSUPPORTED_VERSION,
} from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import {
  errorText,
  readMessage,
  type RpcId,
  type RpcMessage,
  type RpcRequest,
} from "../../wire/json-rpc.ts";
import { type Caching, completeText } from "../../wire/modern/encode.ts";
import { mismatch } from "../../wire/modern/headers.ts";
import type { RequestHeaders } from "../../wire/request-headers.ts";
import {
  claimedVersion,
  declaresTasks,
  readMeta,
  type RequestMeta,
  TASKS_EXTENSION,
} from "../../wire/modern/meta.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import { capabilitiesFor, serverCapabilities } from "../catalog.ts";
import type { ServerCore } from "../core.ts";
import { checkQuery, queryFor } from "../queries.ts";
import {
  ACCEPTED,
  busy,
  type Caller,
  type Era,
  failed,
  later,
  refused,
  type Reply,
  rpcErrorOf,
  value,
} from "../reply.ts";
import { isRun, targetOf } from "../run-target.ts";
import { hasViews, listsDiffer } from "../views.ts";
import { ModernCalls, onceStored } from "./call.ts";
import { subscribe, type Subscription } from "./notification-stream.ts";
import {
  headersDiffer,
  missingCapability,
  MODERN_ERRORS,
  TASKS_CAPABILITY,
  unknownMethod,
} from "./refusals.ts";
import { States } from "./request-state.ts";
import { type Resumption, resumptionOf } from "./resume.ts";
import type { RunFeed } from "./stream.ts";
import { detailedTask, findTask, updateTask } from "./tasks.ts";

/** The metadata and the caller of a modern request. */
export interface RequestContext {
  readonly meta: RequestMeta;
  readonly caller: Caller;
}

/** Streams of the modern era can be sent on their own connection or on a shared channel. */
type ModernReply = Reply<RunFeed | Subscription>;

export class ModernEra implements Era {
  readonly #core: ServerCore;
  readonly #listCaching: Caching;
  readonly #calls: ModernCalls;
  readonly #states: States;
  readonly #queries = new Set<StartedOperation<JsonObject>>();
  /** Subscriptions that have their own connection. */
  readonly #subscriptions = new Set<Subscription>();

  /** `listCaching` says how long lists may be cached, and whether shared caches may store them. */
  constructor(core: ServerCore, listCaching: Caching) {
    this.#core = core;
    this.#states = new States(core.registry.sealer);
    this.#calls = new ModernCalls(core, this.#states);
    this.#listCaching = listCaching;
  }

  receive(message: RpcMessage, caller: Caller): ModernReply {
    switch (message.type) {
      case "notification":
        return ACCEPTED;
      case "answer":
        return refused(
          400,
          INVALID_REQUEST,
          "Cannot accept the message: it answers a request, but this revision has no requests from the server; send answers in inputResponses",
        );
      case "invalid":
        return refused(
          400,
          INVALID_REQUEST,
          `Cannot read the message: ${message.problem}; send JSON-RPC 2.0`,
          message.id,
        );
    }
    const { id } = message;
    const meta = checkedMeta(caller.headers, message);
    if ("code" in meta) return { type: "refused", id, error: meta, status: 400 };
    if (caller.underWay?.has(id)) {
      const problem =
        "Cannot accept the request: another request with this id is running; use another id";
      return refused(400, INVALID_REQUEST, problem, id);
    }
    // Check the limit before the call runs: a refused call must have no side effects.
    if (caller.ownStream && isRun(message.method)) {
      const problem = this.#core.refusesStream(caller.principal);
      if (problem !== undefined) return busy(id, problem, MODERN_ERRORS);
    }
    const context = { meta, caller };
    const resumption = resumptionOf(this.#core, this.#states, message, context);
    if (!resumption?.revived) return this.#receive(message, context, resumption);
    // The calls that the request continues are being loaded into memory.
    return later(
      resumption.revived,
      (failure) =>
        failure
          ? failed(this.#core, id, failure.error, MODERN_ERRORS)
          : this.#receive(message, context, resumption),
      { id },
    );
  }

  /** Refuses a batch: the modern revision has none. */
  receiveBatch(items: readonly unknown[], caller: Caller): ModernReply {
    return this.receive(readMessage(items), caller);
  }

  #receive(request: RpcRequest, context: RequestContext, resumption?: Resumption): ModernReply {
    try {
      return this.#dispatch(request, context, resumption);
    } catch (error) {
      return failed(this.#core, request.id, error, MODERN_ERRORS);
    }
  }

  /** Ends all subscriptions that have their own connection. Each client gets a response. */
  drain(): void {
    for (const subscription of [...this.#subscriptions]) subscription.end();
  }

  /** Ends subscriptions, and stops running queries, so that their clients get a response. */
  stop(): void {
    this.drain();
    for (const query of [...this.#queries]) query.halt();
  }

  close(): void {}

  #dispatch(request: RpcRequest, context: RequestContext, resumption?: Resumption): ModernReply {
    const { id, method, params } = request;
    const core = this.#core;
    const offered = serverCapabilities(core);
    const family = FAMILIES[method.slice(0, method.indexOf("/"))];
    if (family && !(family in offered) && !(family === "resources" && hasViews(core.catalog))) {
      throw unknownMethod(method);
    }
    const { meta, caller } = context;
    const target = targetOf(core, method, params, INVALID_PARAMS, caller);
    if (target) return this.#calls.run(request, target, context, resumption);
    const query = queryFor(core, method);
    if (query) {
      checkQuery(core, method, params, caller);
      const { client } = meta;
      const started = startOperation(
        core.registry.scope,
        () => query(core, params, client, caller),
      );
      return this.#query(id, method, started);
    }
    switch (method) {
      case "server/discover":
        return value(
          completeText(
            core.info,
            id,
            this.#discovered(context.meta.client),
            this.#caching(hasViews(core.catalog)),
          ),
        );
      case "subscriptions/listen": {
        const stream = subscribe(core, this.#subscriptions, id, params, context);
        return { type: "stream", stream };
      }
      case "tasks/get":
      case "tasks/update":
      case "tasks/cancel": {
        const session = this.#taskIn(params, context);
        const text = completeText(core.info, id, this.#task(method, params, session));
        return onceStored(core, id, session, text);
      }
    }
    throw unknownMethod(method);
  }

  /** How long a list may be cached. Shared caches may not store a list that differs by client. */
  #caching(isPrivate: boolean): Caching {
    return isPrivate ? { ...this.#listCaching, cacheScope: "private" } : this.#listCaching;
  }

  #discovered(client: ClientInfo): JsonObject {
    const { instructions, catalog } = this.#core;
    const tasks = [...catalog.tools.values()].some((tool) => tool.task);
    return {
      supportedVersions: [MODERN_VERSION],
      capabilities: capabilitiesFor(this.#core, client, tasks ? { [TASKS_EXTENSION]: {} } : {}),
      ...(instructions !== undefined && { instructions }),
    };
  }

  #taskIn(params: JsonObject, { meta, caller }: RequestContext): LiveToolSession {
    if (!declaresTasks(meta.client)) throw missingCapability(TASKS_CAPABILITY);
    const session = findTask(this.#core, params, caller.principal);
    this.#core.access.check(session.tool, caller);
    return session;
  }

  #task(method: string, params: JsonObject, session: LiveToolSession): JsonObject {
    switch (method) {
      case "tasks/update":
        updateTask(this.#core, session, params);
        return {};
      case "tasks/cancel":
        session.halt("cancelled by the client", "caller");
        return {};
      default:
        return detailedTask(this.#core, session);
    }
  }

  #query(id: RpcId, method: string, query: StartedOperation<JsonObject>): ModernReply {
    const caching = method === "completion/complete"
      ? undefined
      : this.#caching(method === "tools/list" && listsDiffer(this.#core.catalog));
    const text = (outcome: StartedOperation<JsonObject>["outcome"]) => {
      if (outcome?.type !== "returned") {
        throw outcome?.type === "threw" ? outcome.error : new RegistryClosedError();
      }
      return completeText(this.#core.info, id, outcome.value, caching);
    };
    if (query.outcome) return value(text(query.outcome));
    this.#queries.add(query);
    const ended = query.ended().then(text)
      .catch((error) => errorText(id, rpcErrorOf(this.#core, error)))
      .finally(() => this.#queries.delete(query));
    return later(ended, value, { id, leave: () => query.halt() });
  }
}

/** The capability that the server must have to support methods with this prefix. */
const FAMILIES: { readonly [prefix: string]: string | undefined } = {
  // Method names come from clients, and must not match properties of `Object.prototype`.
  __proto__: null as never,
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  completion: "completions",
};

/** Reads and checks the metadata of a request. Returns an error if it is not valid. */
function checkedMeta(
  headers: RequestHeaders | undefined,
  { method, params }: RpcRequest,
): RequestMeta | RpcError {
  // Check the revision first, because the other requirements depend on it.
  const version = claimedVersion(params);
  const wrong = version === undefined ? undefined : wrongVersion(headers, version);
  if (wrong) return wrong;
  const meta = readMeta(params);
  if ("problem" in meta) {
    return {
      code: INVALID_PARAMS,
      message: `Cannot accept the request: ${meta.problem}; ${
        meta.wayOut ?? "send it as revision 2026-07-28 requires"
      }`,
    };
  }
  const problem = headers && mismatch(headers, method, params);
  if (!problem) return meta;
  const { message } = headersDiffer(problem);
  return { code: HEADER_MISMATCH, message };
}

function wrongVersion(headers: RequestHeaders | undefined, version: string): RpcError | undefined {
  const said = headers ? headers.version : version;
  if (said !== version) {
    const what = said === null ? "is missing" : `says "${said}", but the body says "${version}"`;
    return {
      code: HEADER_MISMATCH,
      message:
        `Cannot accept the request: the MCP-Protocol-Version header ${what}; send the same version in the header and in the body`,
    };
  }
  return version === MODERN_VERSION ? undefined : {
    code: UNSUPPORTED_VERSION,
    message:
      `Cannot serve protocol version "${version}": it is not supported; use one of the versions in data.supported`,
    data: { supported: [MODERN_VERSION], requested: version },
  };
}
