/**
 * Runs a tool without a host. The test scripts the answers of the person and the model, and checks
 * what the tool asked and returned.
 */
import { setImmediate } from "node:timers";
import type { ContentBlock } from "../model/content.ts";
import type { ToolResult, ToolSessionEvent, ToolSessionOutcome } from "../model/events.ts";
import { LiveToolSessionRegistry } from "../registry/registry.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import { textAndDataWarning, wordsOnlyInText } from "../tool/text-and-data.ts";
import type { ElicitsMap, FinalizedMcpTool, FinalizedMcpToolWithElicits } from "../tool/types.ts";
import { createManualClock } from "./manual-clock.ts";
import { answered, isRequest, leftover, type ScriptedTurn, type ToolScript } from "./script.ts";

/** The outcome of a test: the tool's result, the tool's questions, and the unused answers. */
export interface ToolTestRun<TResult = unknown> {
  readonly outcome: ToolSessionOutcome;
  /**
   * The result of the call. Reading this property throws if the call ended without a result, or if
   * the tool threw an unexpected error. `outcome` shows what the caller received in that case.
   */
  readonly result: ToolResult;
  /** The text of the result. */
  readonly text: string;
  /** The structured content of the result. */
  readonly structured: TResult;
  readonly events: readonly ToolSessionEvent[];
  /** The questions with their answers, in order. */
  readonly conversation: readonly ScriptedTurn[];
  /** Scripted answers that were not used, as paths such as `elicit.key[1]` or `sample[0]`. */
  readonly leftover: readonly string[];
  /** Unexpected errors that the tool threw. The caller is told only that the call failed. */
  readonly faults: readonly unknown[];
  /** Warnings about text that is missing from the structured content. */
  readonly warnings: readonly string[];
}

/** Names of tools with a warning on the console. Each tool gets one. */
const warned = new Set<string>();

/**
 * Runs a tool until it ends, and answers its questions with the script. The test needs no host,
 * model or network. No real time passes: a timeout expires immediately when nothing else can happen.
 *
 * @example
 * ```ts
 * import { createMcpTool, testTool } from "parley-mcp";
 * import { z } from "zod";
 *
 * const tool = createMcpTool("pick")
 *   .description("Lets the person pick a colour.")
 *   .elicits({ colour: { response: z.object({ name: z.enum(["red", "blue"]) }) } })
 *   .execute(function* (_params, ctx) {
 *     const answer = yield* ctx.elicit("colour", { message: "Which colour?" });
 *     return answer.action === "accept" ? answer.content.name : "none";
 *   });
 *
 * const run = await testTool(tool, {}, {
 *   elicit: { colour: { action: "accept", content: { name: "red" } } },
 * });
 * console.log(run.text); // red
 * ```
 */
// deno-lint-ignore ban-types
export async function testTool<TInput, TResult, E extends ElicitsMap = {}>(
  tool:
    | FinalizedMcpToolWithElicits<string, TInput, TResult, E>
    | FinalizedMcpTool<string, TInput, TResult>,
  params: NoInfer<TInput>,
  script: ToolScript<NoInfer<E>> = {},
): Promise<ToolTestRun<TResult>> {
  const clock = script.clock ?? createManualClock();
  const faults: unknown[] = [];
  const registry = new LiveToolSessionRegistry({
    clock,
    limits: { maxEventsPerSession: Infinity, maxEventBytesPerSession: Infinity },
    ...(script.sampling && { sampling: script.sampling }),
    report: ({ error }) => faults.push(error),
  });
  try {
    const { client } = script;
    const session = registry.open(tool, params, client ? { client } : {});
    // A held session does not expire, so only the tool's own timeouts can end it.
    registry.hold(session);
    const events: ToolSessionEvent[] = [];
    const turns: ScriptedTurn[] = [];
    const ignored = new Set<string>();
    for (let lsn = 0; !isOver(session, lsn); lsn = events.length) {
      const event = session.log.next(lsn);
      if (!event) {
        await (ignored.size > 0 ? passTime(session, lsn, clock, tool.name) : change(session));
        continue;
      }
      events.push(event);
      if (event.type === "withdrawn") ignored.delete(event.requestId);
      if (!isRequest(event)) continue;
      const turn = await answered(event, script as ToolScript, turns);
      turns.push(turn);
      if (turn.answered === "timeout") ignored.add(event.id);
      else session.respond(event.id, turn.answered);
    }
    const warnings = warningsOf(tool.name, session.outcome!);
    if (warnings.length > 0 && !warned.has(tool.name)) {
      warned.add(tool.name);
      for (const warning of warnings) console.warn(`Warning: ${warning}`);
    }
    return new FinishedRun<TResult>(
      tool.name,
      session.outcome!,
      events,
      turns,
      leftover(script as ToolScript, turns),
      faults,
      warnings,
    );
  } finally {
    await registry.close();
  }
}

class FinishedRun<TResult> implements ToolTestRun<TResult> {
  constructor(
    readonly toolName: string,
    readonly outcome: ToolSessionOutcome,
    readonly events: readonly ToolSessionEvent[],
    readonly conversation: readonly ScriptedTurn[],
    readonly leftover: readonly string[],
    readonly faults: readonly unknown[],
    readonly warnings: readonly string[],
  ) {}

  get result(): ToolResult {
    const [fault] = this.faults;
    if (fault !== undefined) throw this.#noResult(`threw ${fault}`, "see .faults", fault);
    if (this.outcome.status === "completed") return this.outcome.result as ToolResult;
    const why = this.outcome.status === "failed" ? this.outcome.error.message : this.outcome.reason;
    throw this.#noResult(`${this.outcome.status}: ${why}`, "see .outcome");
  }

  get text(): string {
    return this.result.content.map((block: ContentBlock) => block.type === "text" ? block.text : "")
      .join("");
  }

  get structured(): TResult {
    return this.result.structuredContent as TResult;
  }

  #noResult(what: string, wayOut: string, cause?: unknown): Error {
    return new Error(`Cannot read the result of tool "${this.toolName}": it ${what}; ${wayOut}`, {
      cause,
    });
  }
}

function warningsOf(toolName: string, outcome: ToolSessionOutcome): string[] {
  if (outcome.status !== "completed") return [];
  const warning = textAndDataWarning(toolName, wordsOnlyInText(outcome.result as ToolResult));
  return warning === undefined ? [] : [warning];
}

function isOver(session: LiveToolSession, lsn: number): boolean {
  return session.outcome !== undefined && session.log.lastLSN === lsn;
}

/** Waits until the session has a new event. */
function change(session: LiveToolSession): Promise<void> {
  return new Promise((resolve) => {
    const unwatch = session.log.watch(() => {
      unwatch();
      resolve();
    });
  });
}

/** Moves the clock to the next timeout if the tool has nothing else to do. */
async function passTime(
  session: LiveToolSession,
  lsn: number,
  clock: { advanceToNext(): boolean },
  toolName: string,
): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (session.log.lastLSN > lsn || session.outcome || clock.advanceToNext()) return;
  const keys = session.openRequests().map((request) => `"${request.place.key}"`).join(", ");
  throw new Error(
    `Cannot let ${keys} time out: tool "${toolName}" sets no timeout; pass { timeout } to ctx.elicit, or set a time limit for the tool`,
  );
}
