/**
 * Runs a tool. Total: whatever the arguments are and whatever the tool does,
 * the run ends in exactly one outcome, and nothing is thrown at the caller.
 */
import type { Operation, Scope } from "effection";
import { McpToolTimeoutError, ProtocolError, ToolError } from "../errors.ts";
import type { RpcError, ToolResult } from "../events.ts";
import { describeIssues } from "../schema/issues.ts";
import { errorResult, toToolResult } from "../tool/result.ts";
import type { FinalizedMcpTool, ToolBody } from "../tool/types.ts";
import { ServerContext, ToolContext } from "./context.ts";
import type { Deadline } from "./deadlines.ts";
import type { RunHost } from "./run-host.ts";
import { Strand, type StrandOutcome } from "./strand.ts";

export type RunOutcome =
  | { readonly type: "result"; readonly result: ToolResult }
  | { readonly type: "error"; readonly error: RpcError }
  | { readonly type: "halted" };

export interface Run {
  /** Stops the tool at its current `yield*`; the outcome follows once it has cleaned up. */
  halt(): void;
}

/** Starts the tool, in the same turn, and reports its outcome, perhaps in the same turn. */
export function runTool(
  tool: FinalizedMcpTool,
  args: unknown,
  host: RunHost,
  home: Scope,
  ended: (outcome: RunOutcome) => void,
): Run {
  const params = tool.parameters.parse(args ?? {});
  if (!params.ok) {
    ended(
      failed(
        `Cannot call tool "${tool.name}": ${
          describeIssues(params.issues)
        }; call it again with arguments that fit`,
      ),
    );
    return NOTHING_TO_HALT;
  }
  const { timeout } = tool.limits;
  let timer: Deadline | undefined;
  let timedOut = false;
  let over = false;
  const strand = new Strand(home, () => bodyOf(tool.body, params.value, host, tool), (outcome) => {
    over = true;
    timer?.cancel();
    if (outcome.type === "halted" && outcome.error !== undefined) {
      host.report(faultOf("its finally block threw", tool, host, outcome.error));
    }
    ended(timedOut ? tooLate(tool, timeout!) : outcomeOf(tool, host, outcome));
  });
  const halt = () => {
    host.halting = true;
    strand.halt();
  };
  strand.start();
  // Only a tool that waits can run out of time.
  if (timeout !== undefined && !over) {
    timer = host.deadlines.add(timeout, () => {
      timedOut = true;
      halt();
    });
  }
  return { halt };
}

const NOTHING_TO_HALT: Run = { halt() {} };

function bodyOf(
  body: ToolBody,
  params: unknown,
  host: RunHost,
  tool: FinalizedMcpTool,
): Operation<unknown> {
  return body.type === "execute"
    ? body.execute(params, new ToolContext(host, tool))
    : handoff(body.phases, params, host, tool);
}

function* handoff(
  { before, client, after }: Extract<ToolBody, { type: "handoff" }>["phases"],
  params: unknown,
  host: RunHost,
  tool: FinalizedMcpTool,
): Operation<unknown> {
  const server = new ServerContext(host);
  const prepared = yield* before(params, server);
  if (host.halting) return;
  const talked = yield* client(prepared, new ToolContext(host, tool));
  if (host.halting) return;
  return yield* after(prepared, talked, server);
}

function outcomeOf(
  tool: FinalizedMcpTool,
  host: RunHost,
  outcome: StrandOutcome<unknown>,
): RunOutcome {
  if (outcome.type === "halted") return outcome;
  if (outcome.type === "threw") return thrown(tool, host, outcome.error);
  try {
    return { type: "result", result: toToolResult(tool, outcome.value) };
  } catch (error) {
    return thrown(tool, host, error);
  }
}

/** Who hears of an error, and how much of it. */
function thrown(tool: FinalizedMcpTool, host: RunHost, error: unknown): RunOutcome {
  if (error instanceof ToolError) return failed(error.message);
  if (error instanceof ProtocolError) {
    const { rpcCode: code, message, data } = error;
    return { type: "error", error: { code, message, ...(data !== undefined && { data }) } };
  }
  host.report(faultOf("it threw", tool, host, error));
  return failed(
    `Tool "${tool.name}" failed for a reason of its own (session ${host.id}); the server's log has the details`,
  );
}

function failed(message: string): RunOutcome {
  return { type: "result", result: errorResult(message) };
}

function tooLate(tool: FinalizedMcpTool, timeout: number): RunOutcome {
  return failed(new McpToolTimeoutError(`tool "${tool.name}"`, timeout).message);
}

function faultOf(what: string, tool: FinalizedMcpTool, host: RunHost, error: unknown) {
  return { what, toolName: tool.name, sessionId: host.id, error };
}
