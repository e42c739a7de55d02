/** Calls of the modern era: starts them, continues them on a retry, and writes their responses. */
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import type { ClientInfo, ToolSessionRequest } from "../../model/events.ts";
import type { Principal } from "../../model/principal.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST } from "../../model/rpc-codes.ts";
import type { QuestionAnswer } from "../../session/questions.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import { errorText, resultText, type RpcId, type RpcRequest } from "../../wire/json-rpc.ts";
import {
  type Caching,
  completeText,
  inputRequiredText,
  outcomeText,
} from "../../wire/modern/encode.ts";
import { parameterMismatch } from "../../wire/modern/headers.ts";
import { declaresTasks, type RequestMeta, SERVER_INFO } from "../../wire/modern/meta.ts";
import type { ServerCore } from "../core.ts";
import { answerCall, type ViewScope } from "../doors/answer-call.ts";
import { continuedResult } from "../doors/call-state.ts";
import { continueCall, lastRead } from "../doors/continue-call.ts";
import { isReadOf, withoutTicket } from "../doors/readings.ts";
import { ANSWER_CALL, CONTINUE_CALL } from "../doors/door-tools.ts";
import { asksElsewhere, defer, fitsDeferral, tooManyRounds } from "../doors/deferral.ts";
import {
  asSent,
  canDefer,
  clientAnswer,
  isBeside,
  MAX_ROUNDS,
  travelling,
} from "../doors/travel.ts";
import {
  type Caller,
  errorReply,
  later,
  type Refused,
  refused,
  type Reply,
  rpcErrorOf,
  type Value,
  value,
} from "../reply.ts";
import { missingCapabilities, type Target, wayOut } from "../run-target.ts";
import { formViewOf, mayShowView } from "../views.ts";
import { type Answers, readAnswers, undeclared } from "./answers.ts";
import type { RequestContext } from "./receive.ts";
import { headersDiffer, missingCapability, MODERN_ERRORS, TASKS_CAPABILITY } from "./refusals.ts";
import type { StateBinding, States } from "./request-state.ts";
import type { Resumption } from "./resume.ts";
import { RunFeed, type RunState } from "./stream.ts";
import { beginTask, taskFields } from "./tasks.ts";

/**
 * How long the outcome of a call is kept if the record is in the request state, in milliseconds.
 * This is long enough for a retry that arrives twice.
 */
const PORTABLE_TIME = 60_000;
const NO_ANSWERS: Answers = [];
const TOKEN_REVOKED =
  "Cannot continue the call: its access token is no longer valid; sign in and start a new call";
const GONE_ON_ELSEWHERE = "another server has taken over the call";

/** A resource may change at any time, and may differ between callers. */
const NOT_CACHED: Caching = { ttlMs: 0, cacheScope: "private" };

interface StartedCall {
  readonly session: LiveToolSession;
  /** The LSN after which this request reads the log. */
  readonly after: number;
}

export class ModernCalls {
  readonly #core: ServerCore;
  readonly #states: States;

  constructor(core: ServerCore, states: States) {
    this.#core = core;
    this.#states = states;
  }

  /** Starts or continues a call. `resumption` is given if the request has a request state. */
  run(
    request: RpcRequest,
    { definition, args }: Target,
    context: RequestContext,
    resumption: Resumption | undefined,
  ): Reply<RunFeed> {
    const { id, params, method } = request;
    const { meta, caller: { headers, principal, who } } = context;
    const tool = definition as FinalizedMcpTool;
    if (headers && definition.kind === "tool" && tool.headerParameters.length > 0) {
      const problem = parameterMismatch(headers.all, tool.headerParameters, args);
      if (problem) throw headersDiffer(problem);
    }
    const missing = missingCapabilities(
      definition,
      meta.client,
      this.#core.pages.doors,
      principal,
    );
    if (missing) {
      const { pages } = this.#core;
      throw missingCapability(missing, wayOut(definition, missing, pages, principal));
    }
    const knowsTasks = declaresTasks(meta.client);
    if (tool.task?.required && !knowsTasks) throw missingCapability(TASKS_CAPABILITY);
    const binding = { principal, method, params };
    const { inputResponses } = params;
    const answers = inputResponses === undefined ? NO_ANSWERS : readAnswers(inputResponses);
    if (definition === CONTINUE_CALL) {
      return this.#continue(id, args as JsonObject, context, binding, resumption, answers);
    }
    if (definition === ANSWER_CALL) {
      const scope = scopeOf(context);
      const result = answerCall(
        this.#core,
        args as JsonObject,
        principal,
        scope,
        context.caller,
      );
      return value(completeText(this.#core.info, id, result));
    }
    const isRetry = resumption !== undefined && params.requestState !== undefined;
    const again = definition.kind === "resource" && !isRetry &&
      this.#readAgain(id, definition, context, binding);
    if (again) return again;
    const task = knowsTasks ? tool.task : undefined;
    const isTask = task !== undefined && task.start !== "when_told";
    const { session, after } = isRetry
      ? this.#resume(resumption, meta, answers, context.caller)
      : this.#start({ definition, args }, meta, who ?? principal, answers, isTask);
    // A client that can show views declares them as an extension.
    const mayHaveView = meta.client.capabilities.extensions && !session.outcome && !resumption;
    if (mayHaveView && mayShowView(definition, meta.client)) {
      const scope = scopeOf(context);
      if (scope) this.#core.apps.expect(session, args, scope);
    }
    if (definition.kind === "resource" && !session.outcome && !isRetry) {
      this.#core.readings.expect(session, params.uri, scopeOf(context));
    }
    if (isTask && !session.outcome) {
      return onceStored(this.#core, id, session, this.#taskText(id, session));
    }
    const feed = new RunFeed(
      this.#core,
      session,
      meta,
      after,
      task !== undefined,
      id,
      (state) =>
        this.#answerTo(id, session, state, binding, meta.client, resumption?.state?.rounds),
    );
    feed.who = who;
    return { type: "stream", stream: feed };
  }

  /** Continues a deferred call. If the request has a request state, it has answers to questions. */
  #continue(
    id: RpcId,
    args: JsonObject,
    { meta, caller }: RequestContext,
    binding: StateBinding,
    resumption: Resumption | undefined,
    answers: Answers,
  ): Reply<RunFeed> {
    const rounds = resumption?.state?.rounds;
    const started = binding.params.requestState !== undefined
      ? { type: "wait" as const, ...this.#resume(resumption!, meta, answers, caller) }
      : continueCall(this.#core, args, caller.principal, meta.client, caller);
    if (started.type === "reply") return value(completeText(this.#core.info, id, started.result));
    const { session, after } = started;
    if (!session.outcome) session.hearFrom(meta.client, meta.trace);
    const answer = (state: RunState) =>
      state === "ended"
        ? value(completeText(this.#core.info, id, continuedResult(session.outcome!)))
        : this.#answerTo(id, session, state, binding, meta.client, rounds);
    const feed = new RunFeed(this.#core, session, meta, after, false, id, answer, true);
    feed.who = caller.who;
    return { type: "stream", stream: feed };
  }

  /** Continues an earlier read of a resource that waits for the person. */
  #readAgain(
    id: RpcId,
    { name }: Definition,
    context: RequestContext,
    binding: StateBinding,
  ): Reply<RunFeed> | undefined {
    const { readings, registry } = this.#core;
    const { meta, caller: { principal } } = context;
    const found = readings.find(binding.params.uri, scopeOf(context), principal);
    const session = found === undefined ? undefined : registry.find(found);
    if (!session || !isReadOf(session, name, principal)) {
      if (found !== undefined) readings.taken({ id: found });
      return undefined;
    }
    if (!session.outcome) session.hearFrom(meta.client, meta.trace);
    const answer = (state: RunState) => {
      if (state === "ended") readings.taken(session);
      return this.#answerTo(id, session, state, binding, meta.client, undefined);
    };
    const after = lastRead(session);
    return {
      type: "stream",
      stream: new RunFeed(this.#core, session, meta, after, false, id, answer, true),
    };
  }

  #start(
    target: Target,
    meta: RequestMeta,
    principal: string | Principal,
    answers: Answers,
    isTask: boolean,
  ): StartedCall {
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

  #resume({ state }: Resumption, meta: RequestMeta, answers: Answers, caller: Caller): StartedCall {
    if (!state || this.#core.deadlines.now() >= state.expires) {
      throw new ProtocolError(
        INVALID_PARAMS,
        "Cannot continue the call: its requestState is not valid; send it back unchanged and with the same arguments, or start a new call",
      );
    }
    const session = this.#core.registry.find(state.sessionId);
    // A log shorter than the state's LSN comes from an older or foreign record.
    if (!session || session.log.lastLSN < state.lsn) {
      throw new ProtocolError(
        INVALID_PARAMS,
        "Cannot continue the call: the server no longer has it, because it expired, was removed to free memory, or was lost in a restart; start a new call",
      );
    }
    if (session.tool.scopes) this.#core.access.check(session.tool, caller);
    const known: QuestionAnswer[] = [];
    for (const [name, response] of answers) {
      const request = session.questions.named(name);
      if (!request || this.#core.askPatience !== undefined && isLate(session, request)) continue;
      const answer = clientAnswer(this.#core, session, request, response);
      if (answer) known.push(answer);
    }
    const { client, trace } = session;
    // Each request declares the client's capabilities and trace again, and they may have changed.
    if (!session.outcome) session.hearFrom(meta.client, meta.trace);
    // Keep the session until the client's state expires, even if the record has an earlier time.
    this.#core.registry.promise(session, state.expires);
    // Register the reader first: an answer lets the run continue before this request reads its log.
    session.log.awaitReader(state.lsn);
    if (session.respondAll(known).includes("conflicting")) {
      session.log.expectNobody();
      session.hearFrom(client, trace);
      throw new ProtocolError(
        INVALID_PARAMS,
        "Cannot accept the answer: the question already has a different answer; continue without sending this one",
      );
    }
    return { session, after: state.lsn };
  }

  /** The response for the state that a run has reached. Never throws, because streams wait for it. */
  #answerTo(
    id: RpcId,
    session: LiveToolSession,
    state: RunState,
    binding: StateBinding,
    client: ClientInfo,
    rounds: number | undefined,
  ): Value | Refused {
    try {
      switch (state) {
        case "ended": {
          const caching = session.tool.kind === "resource" ? NOT_CACHED : undefined;
          return {
            type: "value",
            text: outcomeText(this.#core.info, id, session.outcome!, caching),
          };
        }
        case "task":
          return value(this.#taskText(id, session));
        case "asking":
          return { type: "value", text: this.#askingText(id, session, binding, client, rounds) };
        case "left": {
          const again = session.keepUntil > 0 ? "send the same request again" : "start a new call";
          const why = this.#core.closing ? "the server is shutting down" : GONE_ON_ELSEWHERE;
          return refused(503, INTERNAL_ERROR, `Cannot continue the call: ${why}; ${again}`, id);
        }
        case "revoked":
          return refused(401, INVALID_REQUEST, TOKEN_REVOKED, id);
      }
    } catch (error) {
      return errorReply(id, rpcErrorOf(this.#core, error), MODERN_ERRORS);
    }
  }

  #askingText(
    id: RpcId,
    session: LiveToolSession,
    binding: StateBinding,
    client: ClientInfo,
    rounds = 0,
  ): string {
    const core = this.#core;
    const all = session.openRequests();
    const open: ToolSessionRequest[] = [];
    for (const request of travelling(core, session, all, client)) {
      open.push(asSent(core, session, request));
    }
    if (open.length === 0 || rounds >= MAX_ROUNDS) {
      const missing = canDefer(session, all, client) ? undefined : undeclared(all, client);
      if (missing) throw missingCapability(missing);
      if (session.tool.kind === "resource") {
        throw asksElsewhere(core, session, withoutTicket(binding.params.uri));
      }
      if (!fitsDeferral(session.tool)) return completeText(core.info, id, tooManyRounds(session));
      return completeText(
        core.info,
        id,
        defer(core, session, client, binding.params.name === CONTINUE_CALL.name),
      );
    }
    const now = core.deadlines.now();
    const expires = now + core.registry.timeToLiveOf(session);
    const state = { sessionId: session.id, lsn: session.log.lastLSN, expires, rounds: rounds + 1 };
    const { requestState, portable } = this.#states.seal(session, state, binding);
    const view = client.capabilities.extensions && formViewOf(session.tool, client);
    const text = inputRequiredText(core.info, id, open, requestState, view);
    core.registry.promise(session, portable ? now + PORTABLE_TIME : expires);
    if (core.askPatience !== undefined) core.patience.asked(session);
    return text;
  }

  #taskText(id: RpcId, session: LiveToolSession): string {
    beginTask(this.#core, session);
    const _meta = { [SERVER_INFO]: this.#core.info };
    return resultText(id, { resultType: "task", ...taskFields(session), _meta });
  }
}

/**
 * Where the views of a client look for its calls. Undefined if other callers could find the calls
 * there too.
 */
export function scopeOf({ caller: { principal, ownStream, underWay } }: RequestContext) {
  if (principal !== "") return principal;
  return ownStream ? undefined : underWay as ViewScope | undefined;
}

/**
 * True if the person has already answered the form on a page. The answer on the page counts
 * (PATIENCE-1).
 */
function isLate(session: LiveToolSession, request: ToolSessionRequest): boolean {
  return isBeside(session, request) && !session.openRequests().some(({ id }) => id === request.id);
}

/** Replies with `text` after the session is stored, or with an error if the store fails. */
export function onceStored(
  core: ServerCore,
  id: RpcId,
  session: LiveToolSession,
  text: string,
): Reply<never> {
  const secured = core.registry.secured(session);
  if (!secured) return value(text);
  const message = "Cannot serve the task: the server could not store it; try again later";
  return later(
    secured,
    (stored) => value(stored ? text : errorText(id, { code: INTERNAL_ERROR, message })),
    { id },
  );
}
