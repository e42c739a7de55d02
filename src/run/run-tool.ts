/**
 * Runs a tool, a prompt or a resource.
 *
 * RUN-1  Every run ends with exactly one outcome, whatever the arguments are and whatever the
 *        author's code does. `runTool` never throws.
 */
import type { Operation, Scope } from "effection";
import type { Deadline } from "../lib/deadlines.ts";
import { checkJson } from "../lib/json.ts";
import { StrandBase, type StrandOutcome } from "../lib/strand.ts";
import {
  McpToolTimeoutError,
  ProtocolError,
  SessionHaltedError,
  ToolError,
} from "../model/errors.ts";
import { namedPrincipal } from "../model/principal.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import { describeIssues } from "../schema/issues.ts";
import { refusal, toResult } from "../tool/result.ts";
import type { Definition, ToolBody } from "../tool/types.ts";
import { phaseBranch } from "./branch.ts";
import { ServerContext, ToolContext } from "./context.ts";
import type { RunOutcome, RunPort } from "./run-port.ts";

export interface Run {
  /** Runs the tool up to its first wait. */
  start(): void;
  /** Stops the tool at its current `yield*`. The outcome follows after its cleanup. */
  halt(): void;
  /** True while the run waits for one thing at a time and needs no task. */
  readonly light: boolean;
}

/**
 * Creates a run without starting it, so that the caller can halt it during its first step. The
 * outcome may be reported before `runTool` or `start` returns.
 */
export function runTool(tool: Definition, args: unknown, host: RunPort, home: Scope): Run {
  const params = tool.parameters.parse(args ?? {});
  if (params.ok) return new ToolRun(tool, params.value, host, home);
  // Arguments that overflow the stack are the caller's fault: do not report them to the operator.
  if (params.cause !== undefined && !(params.cause instanceof RangeError)) {
    host.report(
      faultOf("the arguments of the call could not be checked", tool, host, params.cause),
    );
  }
  const problem = describeIssues(params.issues);
  host.runEnded(
    refusal(
      tool,
      `Cannot call ${tool.kind} "${tool.name}": ${problem}; correct the arguments and call it again`,
      INVALID_PARAMS,
    ),
  );
  return NOTHING_TO_RUN;
}

/** A run is an object of a class, not of closures, because each parked call keeps one in memory. */
class ToolRun extends StrandBase<unknown> implements Run {
  readonly #tool: Definition;
  readonly #host: RunPort;
  #params: unknown;
  #timer: Deadline | undefined;
  #timedOut = false;
  #over = false;

  constructor(tool: Definition, params: unknown, host: RunPort, home: Scope) {
    super(home);
    this.#tool = tool;
    this.#params = params;
    this.#host = host;
  }

  override start(): void {
    super.start();
    const { timeout } = this.#tool.limits;
    // A tool that ended in its first step cannot time out.
    if (timeout === undefined || this.#over) return;
    const host = this.#host;
    // The timeout starts with the call, so a replayed run has less time left.
    const left = Math.max(0, host.createdAt + timeout - host.deadlines.now());
    this.#timer = host.deadlines.add(left, () => {
      // A run that is already being halted keeps its first reason, even if its cleanup takes longer
      // than the timeout.
      if (host.halting) return;
      this.#timedOut = true;
      this.halt();
    });
  }

  override halt(): void {
    this.#host.runHalting();
    super.halt();
  }

  protected body(): Operation<unknown> {
    const params = this.#params;
    // The generator owns the parameters from here on.
    this.#params = undefined;
    const tool = this.#tool;
    const host = this.#host;
    const { around } = host.hooks;
    if (!around) return this.#inner(params);
    const { kind, name } = tool;
    const call = {
      kind,
      name,
      arguments: params,
      sessionId: host.id,
      principal: host.caller ?? namedPrincipal(host.principal),
      client: host.client,
      replayed: host.replayed,
    };
    return operationOf("middleware", around(call, () => this.#inner(params)));
  }

  #inner(params: unknown): Operation<unknown> {
    const tool = this.#tool;
    const host = this.#host;
    return tool.body.type === "execute"
      ? operationOf("execute", tool.body.execute(params, new ToolContext(host, tool)))
      : handoff(tool.body.phases, params, host, tool);
  }

  protected ended(outcome: StrandOutcome<unknown>): void {
    const tool = this.#tool;
    const host = this.#host;
    this.#over = true;
    this.#timer?.cancel();
    // If a tool asks a question in `finally` during a halt, it gets an error. Do not report that
    // error.
    if (
      outcome.type === "halted" && outcome.error !== undefined &&
      !(outcome.error instanceof SessionHaltedError)
    ) {
      host.report(faultOf("a finally block of the tool threw an error", tool, host, outcome.error));
    }
    host.runEnded(
      this.#timedOut ? tooLate(tool, tool.limits.timeout!) : outcomeOf(tool, host, outcome),
    );
  }
}

const NOTHING_TO_RUN: Run = { start() {}, halt() {}, light: true };

/**
 * Returns the value if it is an operation, and throws otherwise. A body may be a plain function
 * that returns an operation.
 */
function operationOf(part: string, value: unknown): Operation<unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    if (Symbol.iterator in value) return value as Operation<unknown>;
  }
  throw new TypeError(
    `Cannot run ${part}: it did not return an operation; make it a generator, with function* or *${part}`,
  );
}

function* handoff(
  phases: Extract<ToolBody, { type: "handoff" }>["phases"],
  params: unknown,
  host: RunPort,
  tool: Definition,
): Operation<unknown> {
  const phase = (key: "before" | "after", body: (ctx: ServerContext) => unknown) =>
    host.facts.step(
      { branch: "", kind: "phase", key, count: 0 },
      () => operationOf(key, body(new ServerContext(host, phaseBranch(key)))),
    );
  const prepared = yield* phase("before", (ctx) => phases.before(params, ctx));
  if (host.halting) return;
  const context = new ToolContext(host, tool);
  const talked = yield* operationOf("client", phases.client(prepared, context));
  if (host.halting) return;
  return yield* phase("after", (ctx) => phases.after(prepared, talked, ctx));
}

function outcomeOf(
  tool: Definition,
  host: RunPort,
  outcome: StrandOutcome<unknown>,
): RunOutcome {
  if (outcome.type === "halted") return outcome;
  if (outcome.type === "threw") return thrown(tool, host, outcome.error);
  try {
    return { type: "result", result: toResult(tool, outcome.value) };
  } catch (error) {
    return thrown(tool, host, error);
  }
}

/**
 * Converts an error that the tool threw to an outcome (RUN-1). The class of the error decides
 * whether the model, the client or only the operator sees its message.
 */
function thrown(tool: Definition, host: RunPort, error: unknown): RunOutcome {
  if (error instanceof ToolError) return refusal(tool, error.message);
  if (error instanceof ProtocolError) {
    const { rpcCode: code, message, data } = error;
    if (data === undefined) return { type: "error", error: { code, message } };
    try {
      checkJson(data);
      return { type: "error", error: { code, message, data } };
    } catch (cause) {
      host.report(faultOf("the data of the tool's error cannot be sent", tool, host, cause));
      return { type: "error", error: { code, message } };
    }
  }
  host.report(faultOf("it threw", tool, host, error));
  return refusal(
    tool,
    `Cannot finish ${tool.kind} "${tool.name}": it threw an unexpected error (session ${host.id}); the server's log has the details`,
  );
}

function tooLate(tool: Definition, timeout: number): RunOutcome {
  return refusal(tool, new McpToolTimeoutError(`${tool.kind} "${tool.name}"`, timeout).message);
}

function faultOf(what: string, tool: Definition, host: RunPort, error: unknown) {
  return { what, toolName: tool.name, sessionId: host.id, error };
}
