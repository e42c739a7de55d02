/** The tools that a sample offers to the model, checked before anything is sent. */
import { givenSchema } from "../schema/schema-reader.ts";
import { SchemaProblem } from "../schema/problem.ts";
import type { Schema, SchemaInput } from "../schema/types.ts";
import type { SampleToolsConfig } from "../tool/sample-types.ts";
import { type OfferedTool, SCHEMA_TOOL } from "./schema-tool.ts";

export function schemaTool(input: SchemaInput): OfferedTool {
  return {
    name: SCHEMA_TOOL,
    description: "Answer by calling this tool with the data that was asked for.",
    schema: usable("the schema of a sample", input),
  };
}

/** The schema, or an error that says whose it is. */
function usable(whose: string, input: SchemaInput): Schema<unknown> {
  try {
    return givenSchema(input);
  } catch (error) {
    if (!(error instanceof SchemaProblem)) throw error;
    const field = error.field === "" ? "it" : `"${error.field}"`;
    throw new TypeError(`Cannot use ${whose}: ${field} ${error.problem}; ${error.wayOut}`);
  }
}

export function offeredTools(tools: SampleToolsConfig["tools"]): OfferedTool[] {
  if (!Array.isArray(tools) || tools.length === 0) {
    throw new TypeError("Cannot sample with tools: there are none; pass at least one");
  }
  const names = new Set<string>();
  return tools.map(({ name, description, inputSchema }) => {
    if (typeof name !== "string" || name === "") {
      throw new TypeError("Cannot offer a tool to the model: it has no name; give it one");
    }
    if (name === SCHEMA_TOOL) {
      throw new TypeError(
        `Cannot offer a tool named "${SCHEMA_TOOL}": the name is reserved; give it another`,
      );
    }
    if (names.has(name)) {
      throw new TypeError(
        `Cannot offer tool "${name}" to the model: another one has that name; rename one`,
      );
    }
    names.add(name);
    return {
      name,
      ...(description !== undefined && { description }),
      schema: usable(`the inputSchema of tool "${name}"`, inputSchema),
    };
  });
}
