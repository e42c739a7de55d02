/**
 * Runs a tool without a host: you say what the person and the model answer, and
 * look at what the tool asked and returned.
 */
import type { ContentBlock, JsonObject } from "../content.ts";
import { textOf } from "../content.ts";
import type {
  ClientInfo,
  ElicitRequest,
  ElicitResponse,
  Response,
  SampleRequest,
  SampleResponse,
  ToolResult,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionRequest,
} from "../events.ts";
import type { InferInput } from "../schema/types.ts";
import { LiveToolSessionRegistry } from "../session/registry.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ElicitsMap, FinalizedMcpTool, FinalizedMcpToolWithElicits } from "../tool/types.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";

/** What a person does with a form: fill it in, refuse, close it, or never answer at all. */
export type ScriptedElicit<TContent = JsonObject> =
  | { action: "accept"; content: TContent }
  | "decline"
  | "cancel"
  | "timeout";

/** What a model says: some text, or a whole answer. */
export type ScriptedSample = string | SampleResponse;

/** One answer for every time, one after the other, or worked out from the question. */
export type Scripted<TAnswer, TRequest> =
  | TAnswer
  | readonly TAnswer[]
  | ((request: TRequest, nth: number) => TAnswer | Promise<TAnswer>);

/** Who answers what. */
export interface ToolScript<E extends ElicitsMap = ElicitsMap> {
  /** The person's answers, by the key of the question. */
  elicit?: {
    readonly [K in keyof E]?: Scripted<ScriptedElicit<InferInput<E[K]["response"]>>, ElicitRequest>;
  };
  /** Whether the person agrees to visit a page. */
  elicitUrl?: Scripted<"accept" | "decline" | "cancel" | "timeout", ElicitRequest>;
  /** The model's answers. */
  sample?: Scripted<ScriptedSample, SampleRequest>;
  /** What the client can do; everything unless told. */
  client?: ClientInfo;
  clock?: ManualClock;
}

/** A question and what came back. */
export interface ScriptedTurn {
  readonly kind: "elicit" | "elicitUrl" | "sample";
  readonly key: string;
  /** What the person or the model was asked, as text. */
  readonly asked: string;
  readonly answered: Response | "timeout";
}

/** What happened. */
export interface ToolTestRun<TResult = unknown> {
  readonly outcome: ToolSessionOutcome;
  /** The result of the call. Reading it fails the test if the call did not end with one. */
  readonly result: ToolResult;
  /** The text of the result. */
  readonly text: string;
  /** The structured content of the result. */
  readonly structured: TResult;
  readonly events: readonly ToolSessionEvent[];
  /** The questions, in order, with their answers. */
  readonly conversation: readonly ScriptedTurn[];
  /** What the tool threw by mistake; the caller was told only that it failed. */
  readonly faults: readonly unknown[];
}

/** Runs a tool to its end, answering its questions from the script. */
export async function testTool<TInput, TResult, E extends ElicitsMap = ElicitsMap>(
  tool:
    | FinalizedMcpToolWithElicits<string, TInput, TResult, E>
    | FinalizedMcpTool<string, TInput, TResult>,
  params: NoInfer<TInput>,
  script: ToolScript<E> = {},
): Promise<ToolTestRun<TResult>> {
  const clock = script.clock ?? createManualClock();
  const faults: unknown[] = [];
  const registry = new LiveToolSessionRegistry({
    clock,
    report: ({ error }) => faults.push(error),
  });
  try {
    const { client } = script;
    const session = registry.open(tool, params, client ? { client } : {});
    const conversation: ScriptedTurn[] = [];
    const events: ToolSessionEvent[] = [];
    for await (const event of eventsOf(session)) {
      events.push(event);
      const kind = kindOf(event);
      if (!kind) continue;
      const request = event as ToolSessionRequest;
      const answered = await answerFor(kind, request, script as ToolScript, conversation);
      conversation.push({ kind, key: request.place.key, asked: asked(request), answered });
      if (answered !== "timeout") session.respond(request.id, answered);
      else if (!clock.advanceToNext()) throw neverEnds(tool.name, request.place.key);
    }
    return new FinishedRun<TResult>(tool.name, session.outcome!, events, conversation, faults);
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
    readonly faults: readonly unknown[],
  ) {}

  get result(): ToolResult {
    if (this.outcome.status === "completed") return this.outcome.result;
    const why = this.outcome.status === "failed" ? this.outcome.error.message : this.outcome.reason;
    throw new Error(
      `Cannot read the result of tool "${this.toolName}": it ${this.outcome.status}: ${why}; look at .outcome`,
    );
  }

  get text(): string {
    return this.result.content.map((block: ContentBlock) => block.type === "text" ? block.text : "")
      .join("");
  }

  get structured(): TResult {
    return this.result.structuredContent as TResult;
  }
}

async function* eventsOf(session: LiveToolSession): AsyncGenerator<ToolSessionEvent> {
  let cursor = 0;
  for (;;) {
    const event = session.log.next(cursor);
    if (event) {
      cursor = event.lsn;
      yield event;
    } else if (session.outcome) return;
    else {
      await new Promise<void>((resolve) => {
        const unwatch = session.log.watch(() => {
          unwatch();
          resolve();
        });
      });
    }
  }
}

function kindOf(event: ToolSessionEvent): ScriptedTurn["kind"] | undefined {
  if (event.type === "sample_request") return "sample";
  if (event.type === "elicit_request") return event.params.mode === "url" ? "elicitUrl" : "elicit";
  return undefined;
}

function asked(request: ToolSessionRequest): string {
  switch (request.type) {
    case "elicit_request":
      return request.params.message;
    case "sample_request":
      return textOf(request.params.messages.at(-1)!);
    case "roots_request":
      return "";
  }
}

async function answerFor(
  kind: ScriptedTurn["kind"],
  request: ToolSessionRequest,
  script: ToolScript,
  before: readonly ScriptedTurn[],
): Promise<Response | "timeout"> {
  const { key } = request.place;
  const nth = before.filter((turn) => turn.kind === kind && turn.key === key).length;
  const scripted = (kind === "elicit" ? script.elicit?.[key] : script[kind]) as
    | Scripted<unknown, ToolSessionRequest>
    | undefined;
  const answer = typeof scripted === "function"
    ? await scripted(request, nth)
    : Array.isArray(scripted)
    ? scripted[nth]
    : scripted;
  if (answer === undefined) throw unanswered(kind, key, nth, asked(request));
  if (answer === "timeout") return answer;
  if (kind !== "sample") {
    return typeof answer === "string"
      ? { action: answer as "accept" | "decline" | "cancel" }
      : answer as ElicitResponse;
  }
  return typeof answer === "string"
    ? {
      role: "assistant",
      content: { type: "text", text: answer },
      model: "scripted",
      stopReason: "endTurn",
    }
    : answer as SampleResponse;
}

function unanswered(kind: string, key: string, nth: number, question: string): Error {
  const where = kind === "elicit" ? `elicit: { ${key}: … }` : `${kind}: …`;
  return new Error(
    `Cannot answer ${kind === "elicit" ? `"${key}"` : kind} for the ${
      nth + 1
    }. time ("${question}"): the script has no answer; add it as { ${where} }`,
  );
}

function neverEnds(tool: string, key: string): Error {
  return new Error(
    `Cannot let "${key}" time out: tool "${tool}" set no deadline; pass { timeout } to ctx.elicit`,
  );
}
