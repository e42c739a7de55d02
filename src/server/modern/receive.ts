/**
 * What happens to a request of the modern era. Total: every request has an
 * outcome, and none of them is a throw. How the outcome travels is the
 * transport's business.
 */
import type { Sealer } from "../../lib/sealer.ts";
import { type StartedOperation, startOperation } from "../../lib/start-operation.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError, RegistryClosedError, SessionLimitError } from "../../model/errors.ts";
import type { ClientInfo, RpcError } from "../../model/events.ts";
import { INTERNAL_ERROR, INVALID_PARAMS } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import { errorText, resultText, type RpcId, type RpcRequest } from "../../wire/json-rpc.ts";
import type { Caching } from "../../wire/modern/encode.ts";
import { parameterMismatch } from "../../wire/modern/headers.ts";
import {
  declaresTasks,
  type RequestMeta,
  SERVER_INFO,
  TASKS_EXTENSION,
} from "../../wire/modern/meta.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import { serverCapabilities } from "../catalog.ts";
import type { ServerCore } from "../core.ts";
import { QUERIES } from "../queries.ts";
import { missingCapabilities, type Target, targetOf } from "../run-target.ts";
import { type Answers, readAnswers, undeclared } from "./answers.ts";
import { subscribe, type Subscription } from "./notification-stream.ts";
import { headersDiffer, missingCapability, TASKS_CAPABILITY, unknownMethod } from "./refusals.ts";
import { type StateBinding, States } from "./request-state.ts";
import { completeText, inputRequiredText, outcomeText } from "./results.ts";
import { absentCalls } from "./resume.ts";
import { type Answer, RunFeed, type RunState } from "./stream.ts";
import { beginTask, detailedTask, findTask, taskFields, updateTask } from "./tasks.ts";

export type ModernReceived =
  | { readonly type: "reply"; readonly text: string; readonly error?: RpcError }
  /** `leave` says that nobody waits for it any more. */
  | { readonly type: "later"; readonly text: Promise<string>; leave(): void }
  | { readonly type: "busy"; readonly problem: string }
  | { readonly type: "run"; readonly feed: RunFeed }
  | { readonly type: "listen"; readonly subscription: Subscription };

/** Who asks, and how. */
export interface Asking {
  readonly meta: RequestMeta;
  readonly principal: string;
  /** Absent where the transport has none. */
  readonly headers?: Headers;
}

export class ModernReceiver {
  readonly #core: ServerCore;
  readonly #listCaching: Caching;
  readonly #states: States;
  readonly #queries = new Set<StartedOperation<JsonObject>>();

  constructor(core: ServerCore, sealer: Sealer, listCaching: Caching) {
    this.#core = core;
    this.#states = new States(sealer);
    this.#listCaching = listCaching;
  }

  receive(request: RpcRequest, asking: Asking): ModernReceived {
    try {
      return this.#receive(request, asking);
    } catch (error) {
      return this.#failed(request.id, error);
    }
  }

  #failed(id: RpcId, error: unknown): ModernReceived {
    if (error instanceof SessionLimitError || error instanceof RegistryClosedError) {
      return { type: "busy", problem: error.message };
    }
    const rpc = this.#errorOf(error);
    return { type: "reply", text: errorText(id, rpc), error: rpc };
  }

  /**
   * Brings the calls that a request goes on with back into memory, if they have left
   * it. To be waited for before the request is received, unless it is answered by that.
   */
  takeUp(request: RpcRequest, asking: Asking): Promise<ModernReceived | undefined> | undefined {
    const absent = absentCalls(this.#core, this.#states, request, asking);
    if (absent.length === 0) return undefined;
    return Promise.all(absent).then(() => undefined, (error) => this.#failed(request.id, error));
  }

  /** Stops what takes a while, so that whoever waits for it is told. */
  close(): void {
    for (const query of [...this.#queries]) query.halt();
  }

  #receive(request: RpcRequest, asking: Asking): ModernReceived {
    const { id, method, params } = request;
    const core = this.#core;
    const offered = serverCapabilities(core);
    const family = FAMILIES[method.slice(0, method.indexOf("/"))];
    if (family && !(family in offered)) throw unknownMethod(method);
    const target = targetOf(core, method, params, INVALID_PARAMS);
    if (target) return this.#run(request, target, asking);
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
        return reply(completeText(core, id, this.#discovered(offered), this.#listCaching));
      case "subscriptions/listen":
        return { type: "listen", subscription: subscribe(core, id, params, asking) };
      case "tasks/get":
      case "tasks/update":
      case "tasks/cancel": {
        const session = this.#taskIn(params, asking);
        const text = completeText(core, id, this.#task(method, params, session));
        return this.#onceSecured(id, session, text);
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

  // ------------------------------------------------------------------- calls

  #run(request: RpcRequest, { definition, args }: Target, asking: Asking): ModernReceived {
    const { id, params, method } = request;
    const { meta, headers, principal } = asking;
    const tool = definition as FinalizedMcpTool;
    if (headers && definition.kind === "tool") {
      const problem = parameterMismatch(headers, tool.headerParameters, args);
      if (problem) throw headersDiffer(problem);
    }
    const missing = missingCapabilities(definition, meta.client);
    if (missing) throw missingCapability(missing);
    const knowsTasks = declaresTasks(meta.client);
    if (tool.task?.required && !knowsTasks) throw missingCapability(TASKS_CAPABILITY);
    const binding = { principal, method, params };
    const { requestState, inputResponses } = params;
    const answers = inputResponses === undefined ? NO_ANSWERS : readAnswers(inputResponses);
    const task = knowsTasks ? tool.task : undefined;
    const isTask = task !== undefined && task.start !== "when_told";
    const { session, after } = requestState === undefined
      ? this.#start({ definition, args }, asking, answers, isTask)
      : this.#resume(requestState, binding, meta, answers);
    if (isTask && !session.outcome) {
      return this.#onceSecured(id, session, this.#taskText(id, session));
    }
    const feed = new RunFeed(
      this.#core,
      session,
      meta,
      after,
      task !== undefined,
      (standing) => this.#answerTo(id, session, standing, binding, meta.client),
    );
    return { type: "run", feed };
  }

  #start(target: Target, { meta, principal }: Asking, answers: Answers, isTask: boolean) {
    const session = this.#core.registry.openFleeting(target.definition, target.args, {
      client: meta.client,
      trace: meta.trace,
      principal,
      needsCaller: !isTask,
      awaited: !isTask,
      portable: !isTask && this.#core.carriesRecords && target.definition.durable?.sealed === true,
      ...(isTask && { taskSince: this.#core.deadlines.now() }),
      ...(answers.length > 0 && { answers: new Map(answers) }),
    });
    return { session, after: 0 };
  }

  #resume(requestState: unknown, binding: StateBinding, meta: RequestMeta, answers: Answers) {
    const state = this.#states.open(requestState, binding, this.#core.deadlines.now());
    if (!state) {
      throw new ProtocolError(
        INVALID_PARAMS,
        "Cannot continue the call: its requestState is not valid; send it back as it came, with the same arguments, or call again",
      );
    }
    const session = this.#core.registry.find(state.sessionId);
    // One that has not come so far is another's past: a record from before, or from elsewhere.
    if (!session || session.log.lastLSN < state.lsn) {
      throw new ProtocolError(
        INVALID_PARAMS,
        "Cannot continue the call: the server no longer has it, because it expired, had to make room, or the server was restarted; call again",
      );
    }
    const known = answers.flatMap(([name, response]) => {
      const request = session.requestNamed(name);
      return request ? [{ requestId: request.id, response }] : [];
    });
    const { client, trace } = session;
    // What it can do and where it stands is said anew with every request, to those who may ask.
    if (!session.outcome) session.hearFrom(meta.client, meta.trace);
    // Whoever shows a state has been told to come back, whatever the record says.
    this.#core.registry.promise(session, state.expires);
    // An answer lets the run go on at once, before this request reads.
    session.log.awaitReader(state.lsn);
    if (session.respondAll(known).includes("conflicting")) {
      session.log.expectNobody();
      session.hearFrom(client, trace);
      throw new ProtocolError(
        INVALID_PARAMS,
        "Cannot take the answer: the question has been answered before, and differently; go on without it",
      );
    }
    return { session, after: state.lsn };
  }

  /** The response, once it is known how the run stands. Total, because a stream may wait for it. */
  #answerTo(
    id: RpcId,
    session: LiveToolSession,
    standing: RunState,
    binding: StateBinding,
    client: ClientInfo,
  ): Answer {
    try {
      switch (standing) {
        case "ended": {
          const caching = session.tool.kind === "resource" ? NOT_CACHED : undefined;
          return { text: outcomeText(this.#core, id, session.outcome!, caching) };
        }
        case "task":
          return { text: this.#taskText(id, session) };
        case "asking":
          return { text: this.#askingText(id, session, binding, client) };
        case "left": {
          const again = session.keepUntil > 0 ? "send the same request again" : "call again";
          const why = this.#core.closing ? "the server is shutting down" : GONE_ON_ELSEWHERE;
          const message = `Cannot go on now: ${why}; ${again}`;
          const error = { code: INTERNAL_ERROR, message };
          return { text: errorText(id, error), error, status: 503 };
        }
      }
    } catch (error) {
      const rpc = this.#errorOf(error);
      return { text: errorText(id, rpc), error: rpc };
    }
  }

  #askingText(
    id: RpcId,
    session: LiveToolSession,
    binding: StateBinding,
    client: ClientInfo,
  ): string {
    const core = this.#core;
    const open = session.openRequests();
    const missing = undeclared(open, client);
    if (missing) throw missingCapability(missing);
    const now = core.deadlines.now();
    const expires = now + core.registry.timeToLiveOf(session);
    const state = { sessionId: session.id, lsn: session.log.lastLSN, expires };
    const { requestState, carried } = this.#states.seal(session, state, binding);
    const text = inputRequiredText(core, id, open, requestState);
    core.registry.promise(session, carried ? now + CARRIED_TIME : expires);
    return text;
  }

  // ------------------------------------------------------------------- tasks

  #taskText(id: RpcId, session: LiveToolSession): string {
    beginTask(this.#core, session);
    const _meta = { [SERVER_INFO]: this.#core.info };
    return resultText(id, { resultType: "task", ...taskFields(session), _meta });
  }

  #taskIn(params: JsonObject, { meta, principal }: Asking): LiveToolSession {
    if (!declaresTasks(meta.client)) throw missingCapability(TASKS_CAPABILITY);
    return findTask(this.#core, params, principal);
  }

  /** A reply that promises something, once that is stored. */
  #onceSecured(id: RpcId, session: LiveToolSession, text: string): ModernReceived {
    const secured = this.#core.registry.secured(session);
    if (!secured) return reply(text);
    const message = "Cannot do this: the server could not store it; try again later";
    const later = secured.then((stored) =>
      stored ? text : errorText(id, { code: INTERNAL_ERROR, message })
    );
    return { type: "later", text: later, leave() {} };
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

  #query(id: RpcId, method: string, query: StartedOperation<JsonObject>): ModernReceived {
    const caching = method === "completion/complete" ? undefined : this.#listCaching;
    const text = (outcome: StartedOperation<JsonObject>["outcome"]) => {
      if (outcome?.type !== "returned") {
        throw outcome?.type === "threw" ? outcome.error : new RegistryClosedError();
      }
      return completeText(this.#core, id, outcome.value, caching);
    };
    if (query.outcome) return reply(text(query.outcome));
    this.#queries.add(query);
    const later = query.ended().then(text)
      .catch((error) => errorText(id, this.#errorOf(error)))
      .finally(() => this.#queries.delete(query));
    return { type: "later", text: later, leave: () => query.halt() };
  }

  #errorOf(error: unknown): RpcError {
    if (error instanceof ProtocolError) {
      const { rpcCode: code, message, data } = error;
      return { code, message, ...(data !== undefined && { data }) };
    }
    if (error instanceof RegistryClosedError) {
      return { code: INTERNAL_ERROR, message: error.message };
    }
    this.#core.registry.report({
      what: "a request failed",
      toolName: "-",
      sessionId: "-",
      error,
    });
    return {
      code: INTERNAL_ERROR,
      message: "Cannot answer: the server failed; its log has the details",
    };
  }
}

/** How long what became of a call is kept here, where its record travels: for retries that come twice. */
const CARRIED_TIME = 60_000;
const NO_ANSWERS: Answers = [];
const GONE_ON_ELSEWHERE = "another server has gone on with the call";

/** Which capability a method belongs to, for those that are only there if something is offered. */
const FAMILIES: { readonly [prefix: string]: string | undefined } = {
  // Methods come from outside, and must not find what every object has.
  __proto__: null as never,
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  completion: "completions",
};

/** What was read may be another thing the next moment, and another one for another caller. */
const NOT_CACHED: Caching = { ttlMs: 0, cacheScope: "private" };

function reply(text: string): ModernReceived {
  return { type: "reply", text };
}
