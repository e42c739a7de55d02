/** A model and a person who play tic-tac-toe, each by a list of cells in order of preference. */
import type { JsonObject, McpMessage, SampleParams, SampleResponse } from "../../src/mod.ts";
import { type Cell, CELLS } from "../../tools/play_ttt/board.ts";
import { assertModelIds } from "../support/model-ids.ts";

/** The cells to play, the favourite first; the others follow in order. */
export type Taste = readonly Cell[];

export interface Match {
  readonly model: Taste;
  readonly person: Taste;
}

/** A quick win for the side that begins, and a draw. */
export const FAST: Taste = ["1", "2", "3"];
export const SLOW: Taste = ["4", "5", "7", "8"];
export const DRAW_X: Taste = ["1", "9", "8", "3", "4"];
export const DRAW_O: Taste = ["5", "2", "7", "6"];

export function prefer(taste: Taste, offered: readonly Cell[]): Cell {
  return [...taste, ...CELLS].find((cell) => offered.includes(cell))!;
}

/** What a person fills into the form. */
export function personMove(taste: Taste, requestedSchema: JsonObject): { cell: Cell } {
  return { cell: prefer(taste, cellsOffered(requestedSchema)) };
}

/** The cells that a form offers, in the format of the client's revision. */
export function cellsOffered({ properties }: JsonObject): Cell[] {
  const { oneOf, enum: plain } = (properties as { cell: JsonObject }).cell;
  if (Array.isArray(oneOf)) return oneOf.map((choice) => choice.const);
  return plain as Cell[];
}

const STRATEGY = { tool: "play_offensive", arguments: { reasoning: "Three in a row." } };

/** A model's answer: a call if it is offered tools, JSON in text if it is told to. */
export function modelAnswer(taste: Taste, params: SampleParams): SampleResponse {
  assertModelIds(params.messages);
  const { tools } = params;
  const model = "scripted-player";
  if (!tools) {
    const text = JSON.stringify(inWords(taste, params.messages.at(-1)!));
    return { role: "assistant", content: { type: "text", text }, model, stopReason: "endTurn" };
  }
  const [name, input] = tools[0]!.name === "__schema__"
    ? ["__schema__", move(taste, tools[0]!.inputSchema)]
    : [STRATEGY.tool, { ...STRATEGY.arguments, ...cellIn(taste, tools[0]!.inputSchema) }];
  const id = `call_${params.messages.length}`;
  return {
    role: "assistant",
    content: [{ type: "tool_use", id, name, input: input as JsonObject }],
    model,
    stopReason: "toolUse",
  };
}

function inWords(taste: Taste, { content }: McpMessage): unknown {
  // Clients pass single blocks on unchanged.
  const text = [content].flat().map((block) => block.type === "text" ? block.text : "").join("\n");
  const schema = /JSON Schema:\n(.+)$/s.exec(text)?.[1];
  if (schema !== undefined) return move(taste, JSON.parse(schema));
  const [, offered] = /play_offensive: .*\n +arguments: (.+)/.exec(text) ?? [];
  const cell = offered === undefined ? {} : cellIn(taste, JSON.parse(offered));
  return { ...STRATEGY, arguments: { ...STRATEGY.arguments, ...cell } };
}

/** The move, if a schema asks for one besides the strategy. */
function cellIn(taste: Taste, schema: JsonObject): { cell?: Cell } {
  return "cell" in (schema.properties as object) ? move(taste, schema) : {};
}

/** The move that a schema asks for. */
export function move(taste: Taste, { properties }: JsonObject): { cell: Cell } {
  const { enum: cells } = (properties as { cell: { enum: Cell[] } }).cell;
  return { cell: prefer(taste, cells) };
}
