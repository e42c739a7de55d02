/** Describes an event for the timeline: a word for its kind, a line of text, and its lane. */
import { isObject } from "../../lib/json.ts";
import { textOf } from "../../model/content.ts";
import type { Place, ToolSessionEvent } from "../../model/events.ts";

export interface DescribedEvent {
  readonly kind: string;
  readonly text: string;
  /** How long something took, in milliseconds. */
  readonly took?: number | undefined;
  readonly tone: "plain" | "wait" | "good" | "bad";
}

export function describeEvent(event: ToolSessionEvent): DescribedEvent {
  switch (event.type) {
    case "progress": {
      const of = event.total === undefined ? "" : ` of ${event.total}`;
      return plain("progress", [`${event.progress}${of}`, event.message]);
    }
    case "log":
      return plain(`log ${event.level}`, [shortJson(event.data)]);
    case "elicit_request": {
      const { place, params, door = "form" } = event;
      return {
        ...plain("question", [place.key, `at the ${door}`, firstLine(params.message)]),
        tone: "wait",
      };
    }
    case "sample_request": {
      const last = event.params.messages.at(-1);
      return { ...plain("sample", [last && firstLine(textOf(last))]), tone: "wait" };
    }
    case "roots_request":
      return { ...plain("roots", ["asks for the roots of the client"]), tone: "wait" };
    case "answer":
      return answered(event);
    case "begun": {
      const until = event.until === undefined
        ? undefined
        : `until ${new Date(event.until).toISOString()}`;
      return plain(`${event.place.kind} begins`, [event.place.key, until]);
    }
    case "fact": {
      const { place, outcome } = event;
      return outcome.ok
        ? plain(place.kind, [place.key, shortJson(outcome.value)])
        : { ...plain(place.kind, [place.key, `threw ${outcome.error.message}`]), tone: "bad" };
    }
    case "withdrawn":
      return plain("withdrawn", [event.reason]);
    case "result": {
      const isError = "isError" in event.result && event.result.isError === true;
      const tone = isError ? "bad" : "good";
      return { ...plain("result", [shortJson(event.result)]), tone };
    }
    case "error":
      return { ...plain("error", [event.error.message]), tone: "bad" };
    case "task_started":
      return plain("task", ["the call continues as a task"]);
    case "elicit_complete":
      return plain("page done", [event.elicitationId]);
    case "cancelling":
    case "cancelled":
      return { ...plain(event.type, [`by the ${event.by}`, event.reason]), tone: "bad" };
  }
}

function answered(
  { response, via, elapsed }: ToolSessionEvent & { type: "answer" },
): DescribedEvent {
  const by = via === undefined ? undefined : `via ${via}`;
  const made = (
    parts: readonly (string | undefined)[],
    tone: DescribedEvent["tone"] = "plain",
  ) => ({
    ...plain("answer", [by, ...parts]),
    took: elapsed,
    tone,
  });
  if ("error" in response) return made([response.error.message], "bad");
  if ("action" in response) {
    return made([response.action, response.content && shortJson(response.content)]);
  }
  if ("roots" in response) return made([`${response.roots.length} roots`]);
  const { usage, model, content } = response;
  const tokens = usage && `${usage.inputTokens ?? "?"} + ${usage.outputTokens ?? "?"} tokens`;
  const text = typeof content === "string"
    ? content
    : textOf({ role: "assistant", content: [content].flat() });
  return made([model, tokens, text === "" ? shortJson(content) : firstLine(text)]);
}

function plain(kind: string, parts: readonly (string | undefined)[]): DescribedEvent {
  const text = parts.filter((part) => part !== undefined && part !== "").join(" · ");
  return { kind, text, tone: "plain" };
}

function shortJson(value: unknown): string {
  if (typeof value === "string") return firstLine(value);
  const text = JSON.stringify(value) ?? "";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]!.slice(0, 300);
}

/** The branch that an event belongs to. Empty for the tool itself. */
export function branchOf(event: ToolSessionEvent): string {
  const { place, branch } = event as { place?: Place; branch?: string };
  return isObject(place) ? String(place.branch ?? "") : branch ?? "";
}
