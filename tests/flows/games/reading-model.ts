/**
 * A model without any knowledge of Parley. It finds a tool by its description, and then does what
 * the results tell it to do: it asks the person, or shows the person a link, and calls tools.
 */
import assert from "node:assert/strict";
import type { JsonObject } from "parley-mcp";

export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

export interface ReadResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: { readonly [name: string]: unknown };
  readonly isError?: boolean;
}

/** The client of the model. */
export interface Hands {
  tools(): Promise<readonly ListedTool[]>;
  call(name: string, args: JsonObject): Promise<ReadResult>;
}

/** The person who talks to the model. */
export interface Listener {
  /** Answers a question. `fields` are the lines that describe the answer, by the field's name. */
  answer?(question: string, fields: ReadonlyMap<string, string>): JsonObject;
  /** Opens a link, and does what the page asks for. */
  open?(link: string): Promise<void>;
}

/** What the client passes on to the model: the text of a result, or its data if it has any. */
export type Reads = "text" | "data";

/** Everything that happened, in order: names of tools that were called, `asked`, and `opened`. */
export interface Transcript {
  readonly result: ReadResult;
  readonly steps: readonly string[];
}

export async function pursue(
  hands: Hands,
  goal: RegExp,
  args: JsonObject,
  person: Listener,
  reads: Reads = "text",
): Promise<Transcript> {
  const tools = await hands.tools();
  const { name } = tools.find(({ description = "" }) => goal.test(description))!;
  const steps = [name];
  let result = await hands.call(name, args);
  while (isUnfinished(read(result, reads))) {
    assert.notEqual(result.isError, true, read(result, reads));
    const text = read(result, reads);
    const [, next = "", found = ""] = /call (\w+) with (?:.*?example: )?(\{.*\})/i.exec(text) ?? [];
    assert.ok(tools.some((tool) => tool.name === next), text);
    const call = JSON.parse(found) as JsonObject;
    const question = /Question: (.*?)\n\nThe answer has these fields:\n(.*?)\n\n/s.exec(text);
    const [link] = /https?:\S+/.exec(text) ?? [];
    // The model calls the tool at once, if the result tells it to: the tool waits for the person.
    let done: Promise<void> | undefined;
    if (question) {
      steps.push("asked");
      call.answer = person.answer!(question[1]!, fieldsIn(question[2]!));
    } else if (link !== undefined) {
      steps.push("opened");
      done = person.open!(link);
    }
    steps.push(next);
    [result] = await Promise.all([hands.call(next, call), done]);
    assert.ok(steps.length < 60, "it does not end");
  }
  return { result, steps };
}

function isUnfinished(text: string): boolean {
  return /is not finished|still waits/.test(text);
}

function read({ content, structuredContent }: ReadResult, reads: Reads): string {
  if (reads === "data" && structuredContent) {
    return Object.values(structuredContent).filter((value) => typeof value === "string").join("\n");
  }
  return content.map(({ text = "" }) => text).join("\n");
}

function fieldsIn(lines: string): Map<string, string> {
  return new Map(
    lines.split("\n").map((line) => {
      const [, name = "", about = ""] = /^- (\w+): (.*)$/.exec(line) ?? [];
      return [name, about];
    }),
  );
}
