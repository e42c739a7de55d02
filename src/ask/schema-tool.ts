/**
 * Requests structured data from a model.
 *
 * MCP has no structured output, and each provider has a different form of it. But all of them have
 * tools, so data is requested as a call of one reserved tool. A provider with structured output
 * recognises that tool. A client without tools receives the request as text.
 */
import { isObject } from "../lib/json.ts";
import type { JsonObject, McpMessage } from "../model/content.ts";
import type { SampleParams } from "../model/events.ts";
import { SCHEMA_TOOL } from "../sampling/provider.ts";
import { SchemaProblem } from "../schema/problem.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { Schema, SchemaInput } from "../schema/types.ts";
import type { SampleToolsConfig, SamplingToolChoice } from "../tool/sample-types.ts";
import type { Asker } from "./ask.ts";
import { findJson } from "./find-json.ts";
import { toolUses } from "./messages.ts";

export { SCHEMA_TOOL };

/** A tool that is offered to the model. */
export interface OfferedTool {
  readonly name: string;
  readonly description?: string;
  readonly schema: Schema<unknown>;
}

/** Returns the sampling parameters that make the model call one of the tools. */
export function toolParams(
  tools: readonly OfferedTool[],
  mode: SamplingToolChoice,
): Pick<SampleParams, "tools" | "toolChoice"> {
  return {
    tools: tools.map(({ name, description, schema }) => ({
      name,
      ...(description !== undefined && { description }),
      inputSchema: objectSchema(schema.json),
    })),
    toolChoice: { mode },
  };
}

/** A tool call in an answer. Its arguments are not validated yet. */
export interface FoundCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** Finds the tool calls in an answer, in its blocks or as JSON in its text. */
export function findCalls(
  response: McpMessage,
  said: string,
  tools: readonly OfferedTool[],
  mode: SamplingToolChoice,
  newId: () => string,
): FoundCall[] {
  const blocks = toolUses(response);
  if (blocks.length > 0) {
    return blocks.map(({ id, name, input }) => ({ id, name, input: inputFor(tools, name, input) }));
  }
  if (mode === "none") return [];
  const [only] = tools;
  if (only?.name === SCHEMA_TOOL) {
    const found = [...findJson(said)].map((value) => ({ value: withoutCall(value) }));
    const meant = found.find(({ value }) => only.schema.parse(value).ok) ?? found[0];
    if (!meant) return [];
    return [{ id: newId(), name: SCHEMA_TOOL, input: inputFor(tools, SCHEMA_TOOL, meant.value) }];
  }
  for (const value of findJson(said)) {
    const calls = (Array.isArray(value) ? value : [value]).flatMap((one) => {
      const call = callIn(one, tools, mode);
      return call ? [{ id: newId(), ...call }] : [];
    });
    if (calls.length > 0) return calls;
  }
  return [];
}

/** Reads a call that the model wrote as JSON, in the requested form or in another common form. */
function callIn(
  value: unknown,
  tools: readonly OfferedTool[],
  mode: SamplingToolChoice,
): Omit<FoundCall, "id"> | undefined {
  if (!isObject(value)) return undefined;
  const { tool, name = tool, arguments: input = value.input ?? value.parameters ?? {} } = value;
  if (typeof name !== "string") return undefined;
  const isOffered = tools.some((offered) => offered.name === name);
  // JSON with an unknown tool name counts as a call only if the model had to make a call.
  if (!isOffered && (tool === undefined || mode === "auto")) return undefined;
  return { name, input: inputFor(tools, name, input) };
}

/**
 * Returns the data in a value. If the model wrote a call of the reserved tool, the data is in its
 * arguments.
 */
function withoutCall(value: unknown): unknown {
  return isObject(value) && (value.tool ?? value.name) === SCHEMA_TOOL && "arguments" in value
    ? value.arguments
    : value;
}

/** Returns the input of a call. If the schema was wrapped in an object, the input is unwrapped. */
function inputFor(tools: readonly OfferedTool[], name: string, input: unknown): unknown {
  const schema = tools.find((offered) => offered.name === name)?.schema;
  if (!schema || schema.json.type === "object" || !isObject(input) || !("value" in input)) {
    return input;
  }
  // Some models omit the wrapper, and their data may have a field named `value`.
  return !schema.parse(input.value).ok && schema.parse(input).ok ? input : input.value;
}

/**
 * Returns a schema for the input of a tool, which must be an object. Any other schema is wrapped in
 * an object with the field `value`.
 */
function objectSchema(json: JsonObject): JsonObject {
  if (json.type === "object") return json;
  const { $schema, $defs, definitions, ...value } = json;
  return {
    ...($schema !== undefined && { $schema }),
    type: "object",
    properties: { value: moved(value) },
    required: ["value"],
    additionalProperties: false,
    ...($defs !== undefined && { $defs: moved($defs) }),
    ...(definitions !== undefined && { definitions: moved(definitions) }),
  };
}

/** Adjusts the references in a schema that was moved from the root to `properties/value`. */
function moved(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(moved);
  if (!isObject(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, part]) => [
      key,
      key === "$ref" && typeof part === "string"
        ? part.replace(/^#(?!\/(?:\$defs|definitions)\/)/, "#/properties/value")
        : moved(part),
    ]),
  );
}

export function schemaTool({ schemas }: Asker, input: SchemaInput): OfferedTool {
  return {
    name: SCHEMA_TOOL,
    description: "Answer by calling this tool with the data that was asked for.",
    schema: readSchema(schemas, "the schema of a sample", input),
  };
}

/** Converts a schema. `whose` names the schema in the error message. */
function readSchema(schemas: SchemaReader, whose: string, input: SchemaInput): Schema<unknown> {
  try {
    return schemas.schema(input);
  } catch (error) {
    if (!(error instanceof SchemaProblem)) throw error;
    const field = error.field === "" ? "it" : `"${error.field}"`;
    throw new TypeError(`Cannot use ${whose}: ${field} ${error.problem}; ${error.wayOut}`);
  }
}

export function offeredTools(
  { schemas }: Asker,
  tools: SampleToolsConfig["tools"],
): OfferedTool[] {
  if (!Array.isArray(tools) || tools.length === 0) {
    throw new TypeError(
      "Cannot sample with tools: the list of tools is empty; pass at least one tool",
    );
  }
  const names = new Set<string>();
  return tools.map(({ name, description, inputSchema }) => {
    if (typeof name !== "string" || name === "") {
      throw new TypeError("Cannot offer a tool to the model: it has no name; set its name");
    }
    if (name === SCHEMA_TOOL) {
      throw new TypeError(
        `Cannot offer a tool named "${SCHEMA_TOOL}": the name is reserved; use another name`,
      );
    }
    if (names.has(name)) {
      throw new TypeError(
        `Cannot offer tool "${name}" to the model: two tools have this name; rename one of them`,
      );
    }
    names.add(name);
    return {
      name,
      ...(description !== undefined && { description }),
      schema: readSchema(schemas, `the inputSchema of tool "${name}"`, inputSchema),
    };
  });
}
