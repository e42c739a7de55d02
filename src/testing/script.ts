/** The script of a test: how the person and the model answer a tool's questions. */
import { type JsonObject, textOf } from "../model/content.ts";
import type {
  ClientAnswer,
  ClientInfo,
  ElicitRequest,
  RequestFailure,
  Root,
  SampleRequest,
  SampleResponse,
  ToolSessionEvent,
  ToolSessionRequest,
} from "../model/events.ts";
import type { SamplingSetup } from "../run/run-port.ts";
import type { InferInput } from "../schema/types.ts";
import type { ElicitsMap } from "../tool/types.ts";
import type { ManualClock } from "./manual-clock.ts";

/**
 * The person's answer to a form: fill it in, decline, cancel, or never answer. An `error` means that
 * the client could not show the form.
 */
export type ScriptedElicit<TContent = JsonObject> =
  | { action: "accept"; content: TContent }
  | "decline"
  | "cancel"
  | "timeout"
  | RequestFailure;

/** The model's answer: a text, a whole response, an error, or no answer before the timeout. */
export type ScriptedSample = string | SampleResponse | RequestFailure | { timeout: true };

/** One answer for every question, a list of answers in order, or a function of the question. */
export type Scripted<TAnswer, TRequest> =
  | TAnswer
  | readonly TAnswer[]
  | ((request: TRequest, nth: number) => TAnswer | Promise<TAnswer>);

/** The script of a test: the answers of the person and the model, and the client's capabilities. */
export interface ToolScript<E extends ElicitsMap = ElicitsMap> {
  /** The person's answers, by the key of the question. */
  elicit?: keyof E extends never ? Record<string, never> : {
    readonly [K in keyof E]?: Scripted<ScriptedElicit<InferInput<E[K]["response"]>>, ElicitRequest>;
  };
  /** The person's answer when asked to open a page. */
  elicitUrl?: Scripted<"accept" | "decline" | "cancel" | "timeout" | RequestFailure, ElicitRequest>;
  /** The model's answers. */
  sample?: Scripted<ScriptedSample, SampleRequest>;
  /** The client's roots. */
  roots?: readonly Root[];
  /** The client's capabilities. Default: all. */
  client?: ClientInfo;
  /**
   * A model of the server, for sampling requests that the client does not answer. Default: none.
   */
  sampling?: SamplingSetup;
  clock?: ManualClock;
}

/** A question and its answer. */
export interface ScriptedTurn {
  readonly kind: "elicit" | "elicitUrl" | "sample" | "roots";
  readonly key: string;
  /** The text of the question to the person or the model. */
  readonly asked: string;
  readonly answered: ClientAnswer | "timeout";
}

export function isRequest(event: ToolSessionEvent): event is ToolSessionRequest & ToolSessionEvent {
  return event.type === "elicit_request" || event.type === "sample_request" ||
    event.type === "roots_request";
}

/** Answers a question with the script. `before` contains the earlier questions of this run. */
export async function answered(
  request: ToolSessionRequest,
  script: ToolScript,
  before: readonly ScriptedTurn[],
): Promise<ScriptedTurn> {
  const { key } = request.place;
  const kind = kindOf(request);
  const asked = askedBy(request);
  const nth = before.filter((turn) => turn.kind === kind && turn.key === key).length;
  const answer = await scriptedAnswer(kind, request, script, nth);
  if (answer === undefined) throw unanswered(kind, key, nth, asked);
  return { kind, key, asked, answered: toResponse(kind, answer) };
}

/** The paths of scripted answers that no question used. */
export function leftover(script: ToolScript, turns: readonly ScriptedTurn[]): string[] {
  const lists: [string, unknown, ScriptedTurn["kind"], string?][] = [
    ...Object.entries(script.elicit ?? {}).map(([key, list]) =>
      [`elicit.${key}`, list, "elicit", key] as [string, unknown, "elicit", string]
    ),
    ["elicitUrl", script.elicitUrl, "elicitUrl"],
    ["sample", script.sample, "sample"],
  ];
  return lists.flatMap(([place, list, kind, key]) => {
    if (!Array.isArray(list)) return [];
    const used = turns.filter((turn) => turn.kind === kind && (key ?? turn.key) === turn.key);
    return list.map((_, index) => `${place}[${index}]`).slice(used.length);
  });
}

async function scriptedAnswer(
  kind: ScriptedTurn["kind"],
  request: ToolSessionRequest,
  script: ToolScript,
  nth: number,
): Promise<unknown> {
  if (kind === "roots") return script.roots;
  const scripted = (kind === "elicit" ? script.elicit?.[request.place.key] : script[kind]) as
    | Scripted<unknown, ToolSessionRequest>
    | undefined;
  if (typeof scripted === "function") return await scripted(request, nth);
  return Array.isArray(scripted) ? scripted[nth] : scripted;
}

function toResponse(kind: ScriptedTurn["kind"], answer: unknown): ClientAnswer | "timeout" {
  switch (kind) {
    case "roots":
      return { roots: answer as Root[] };
    case "sample":
      if (typeof answer === "string") {
        const content = { type: "text", text: answer } as const;
        return { role: "assistant", content, model: "scripted", stopReason: "endTurn" };
      }
      return (answer as { timeout?: true }).timeout ? "timeout" : answer as ClientAnswer;
    default:
      if (answer === "timeout") return answer;
      return (typeof answer === "string" ? { action: answer } : answer) as ClientAnswer;
  }
}

function kindOf(request: ToolSessionRequest): ScriptedTurn["kind"] {
  if (request.type === "sample_request") return "sample";
  if (request.type === "roots_request") return "roots";
  return request.params.mode === "url" ? "elicitUrl" : "elicit";
}

function askedBy(request: ToolSessionRequest): string {
  switch (request.type) {
    case "elicit_request":
      return request.params.message;
    case "sample_request":
      return textOf(request.params.messages.at(-1)!);
    case "roots_request":
      return "";
  }
}

function unanswered(kind: string, key: string, nth: number, question: string): Error {
  const where = kind === "elicit" ? `elicit: { ${key}: … }` : `${kind}: …`;
  return new Error(
    `Cannot answer ${
      kind === "elicit" ? `"${key}"` : kind
    } ("${question}"): the script has no answer number ${nth + 1}; add it as { ${where} }`,
  );
}
