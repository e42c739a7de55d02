/** Asks the person to fill in a form, field by field, or to open a page. */
import { isCancel, note, select } from "@clack/prompts";
import { type Operation, until, useAbortSignal } from "effection";
import type { JsonObject } from "../../../model/content.ts";
import type { ElicitFormParams, ElicitResponse, ElicitUrlParams } from "../../../model/events.ts";
import { describeIssues } from "../../../schema/issues.ts";
import { schemaOf } from "../../../schema/schema.ts";
import { fieldsOf } from "../fields.ts";
import { promptStreams } from "../terminal.ts";
import { visible } from "../visible.ts";
import { askField, EMPTY, LEFT } from "./field.ts";
import { Stopped } from "../../problem.ts";

/** The ways to leave a form without filling in the next field. */
type Exit = "back" | "decline" | "cancel" | "stop";

/** Asks for the fields of a form. Without a message, shows only the fields. */
export function* askForm(
  { message, requestedSchema }: ElicitFormParams,
  sensitive: readonly string[],
): Operation<ElicitResponse> {
  const signal = yield* useAbortSignal();
  if (message !== "") show(message, "The tool asks", signal);
  const fields = fieldsOf(requestedSchema);
  if (fields.length === 0) return yield* askConsent("Do you agree?", signal);
  const content: JsonObject = {};
  for (;;) {
    for (let at = 0; at < fields.length; at++) {
      const field = fields[at]!;
      const isSensitive = sensitive.includes(field.name);
      const before = content[field.name];
      const options = { sensitive: isSensitive, before, signal };
      const value = yield* until(askField(field, options));
      if (value === LEFT) {
        const exit = yield* until(askExit(signal));
        if (exit !== "back") return leave(exit);
        at--;
      } else if (value === EMPTY) delete content[field.name];
      else content[field.name] = value;
    }
    const parsed = schemaOf(requestedSchema).parse(content);
    if (parsed.ok) return { action: "accept", content };
    show(describeIssues(parsed.issues), "The answers are not valid", signal);
  }
}

export function* askPage(
  { message, url }: Pick<ElicitUrlParams, "message" | "url">,
): Operation<ElicitResponse> {
  const signal = yield* useAbortSignal();
  show(`${message}\n\n${url}`, "The tool asks you to open a page", signal);
  return yield* askConsent("Open the address above in a browser?", signal);
}

function* askConsent(message: string, signal: AbortSignal): Operation<ElicitResponse> {
  const answer = yield* until(select<"accept" | "decline" | "cancel">({
    message,
    options: [
      { value: "accept", label: "Yes" },
      { value: "decline", label: "No" },
      { value: "cancel", label: "Not now" },
    ],
    ...promptStreams(signal),
  }));
  if (isCancel(answer)) return leave(yield* until(askExit(signal)), "cancel");
  return answer === "accept" ? { action: "accept", content: {} } : { action: answer };
}

async function askExit(signal: AbortSignal): Promise<Exit> {
  const answer = await select<Exit>({
    message: "Leave the question?",
    options: [
      { value: "back", label: "Go back to it" },
      { value: "decline", label: "Decline", hint: "tell the tool no" },
      { value: "cancel", label: "Cancel", hint: "leave it undecided" },
      { value: "stop", label: "Stop the tool" },
    ],
    ...promptStreams(signal),
  });
  return isCancel(answer) ? "stop" : answer;
}

function leave(exit: Exit, otherwise?: "cancel"): ElicitResponse {
  if (exit === "stop") throw new Stopped();
  return { action: exit === "back" ? otherwise ?? "cancel" : exit };
}

export function show(text: string, title: string, signal: AbortSignal): void {
  note(visible(text), title, { ...promptStreams(signal), format: (line) => line });
}
