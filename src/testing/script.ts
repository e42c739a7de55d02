/** Who answers a tool's questions in a test, and with what. */
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
 * What a person does with a form: fill it in, refuse, close it, or never answer
 * at all. An `error` is the client's, which could not show it.
 */
export type ScriptedElicit<TContent = JsonObject> =
  | { action: "accept"; content: TContent }
  | "decline"
  | "cancel"
  | "timeout"
  | RequestFailure;

/** What a model says: some text, a whole answer, an error, or nothing at all. */
export type ScriptedSample = string | SampleResponse | RequestFailure | { timeout: true };

/** One answer for every time, one after the other, or worked out from the question. */
export type Scripted<TAnswer, TRequest> =
  | TAnswer
  | readonly TAnswer[]
  | ((request: TRequest, nth: number) => TAnswer | Promise<TAnswer>);

/** The script of a test: what the person and the model answer, and what the client can do. */
export interface ToolScript<E extends ElicitsMap = ElicitsMap> {
  /** The person's answers, by the key of the question. */
  elicit?: keyof E extends never ? Record<string, never> : {
    readonly [K in keyof E]?: Scripted<ScriptedElicit<InferInput<E[K]["response"]>>, ElicitRequest>;
  };
  /** Whether the person agrees to visit a page. */
  elicitUrl?: Scripted<"accept" | "decline" | "cancel" | "timeout" | RequestFailure, ElicitRequest>;
  /** The model's answers. */
  sample?: Scripted<ScriptedSample, SampleRequest>;
  /** What the client has opened to servers. */
  roots?: readonly Root[];
  /** What the client can do; everything unless told. */
  client?: ClientInfo;
  /** Who answers samples besides the client; nobody unless told. */
  sampling?: SamplingSetup;
  clock?: ManualClock;
}

/** A question and what came back. */
export interface ScriptedTurn {
  readonly kind: "elicit" | "elicitUrl" | "sample" | "roots";
  readonly key: string;
  /** What the person or the model was asked, as text. */
  readonly asked: string;
  readonly answered: ClientAnswer | "timeout";
}

export function isRequest(event: ToolSessionEvent): event is ToolSessionRequest & ToolSessionEvent {
  return event.type === "elicit_request" || event.type === "sample_request" ||
    event.type === "roots_request";
}

/** Answers a question from the script; `before` are the questions that came before it. */
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

/** The answers of lists that no question has asked for, as places in the script. */
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
    `Cannot answer ${kind === "elicit" ? `"${key}"` : kind} for the ${
      nth + 1
    }. time ("${question}"): the script has no answer; add it as { ${where} }`,
  );
}
