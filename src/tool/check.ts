/** Refuses definitions that could not work, in words that say how to mend them. */
import type { ElicitForm } from "../backchannel/elicit.ts";
import type { Icon } from "../content.ts";
import { DefinitionError } from "../errors.ts";
import { toElicitationSchema } from "../schema/elicitation.ts";
import { SchemaProblem } from "../schema/problem.ts";
import { toObjectSchema } from "../schema/schema.ts";
import type { Schema, SchemaInput } from "../schema/types.ts";
import type {
  ElicitsMap,
  FinalizedMcpTool,
  McpToolLimits,
  McpToolRequirements,
  ToolAnnotations,
  ToolBody,
} from "./types.ts";

/** A definition as the author wrote it. */
export interface RawDefinition {
  readonly name: string;
  readonly description?: string;
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly parameters?: SchemaInput;
  readonly output?: SchemaInput;
  readonly elicits?: ElicitsMap;
  readonly requires?: McpToolRequirements;
  readonly limits?: McpToolLimits;
}

/** MCP's rule for tool names since 2025-11-25. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

const NO_PARAMETERS: SchemaInput = {
  type: "object",
  properties: {},
  additionalProperties: false,
};

export function checkedDefinition(raw: RawDefinition, body: ToolBody): FinalizedMcpTool {
  const { name, description } = raw;
  const subject = `tool "${name}"`;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new DefinitionError(
      subject,
      "its name",
      "is outside MCP's rules",
      "use 1 to 128 letters, digits, underscores, hyphens and dots",
    );
  }
  if (typeof description !== "string" || description.trim() === "") {
    throw new DefinitionError(
      subject,
      "its description",
      "is missing",
      "say in .description() what it does, because the model chooses tools by it",
    );
  }
  checkBody(subject, body);
  checkLimits(subject, raw.limits);
  return {
    kind: "tool",
    name,
    description,
    ...(raw.title !== undefined && { title: raw.title }),
    ...(raw.annotations && { annotations: raw.annotations }),
    ...(raw.icons && { icons: raw.icons }),
    parameters: named(
      subject,
      "parameters",
      () => toObjectSchema(raw.parameters ?? NO_PARAMETERS, "input"),
    ),
    ...(raw.output && {
      output: named(subject, "output", () => toObjectSchema(raw.output!, "output")),
    }),
    elicits: new Map(
      Object.entries(raw.elicits ?? {}).map(([key, question]) => [
        key,
        checkedForm(subject, key, question),
      ]),
    ),
    requires: raw.requires ?? {},
    limits: raw.limits ?? {},
    body,
  };
}

function checkedForm(subject: string, key: string, question: ElicitsMap[string]): ElicitForm {
  const where = `elicits.${key}`;
  const response = named(
    subject,
    `${where}.response`,
    () => toElicitationSchema(question.response),
  );
  const fields = Object.keys(response.json.properties as object);
  for (const field of question.sensitive ?? []) {
    if (fields.includes(field)) continue;
    throw new DefinitionError(
      subject,
      `${where}.sensitive`,
      `names "${field}", which the form does not have`,
      fields.length > 0 ? `name one of ${fields.join(", ")}` : "leave it out",
    );
  }
  return {
    key,
    response,
    context: question.context &&
      named(subject, `${where}.context`, () => toObjectSchema(question.context!, "input")),
    sensitive: question.sensitive ?? [],
  };
}

/** Puts the tool's name and the field in front of what a schema complains about. */
function named<S extends Schema>(subject: string, field: string, make: () => S): S {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof SchemaProblem)) throw error;
    throw new DefinitionError(
      subject,
      error.field ? `${field}.${error.field}` : field,
      error.problem,
      error.wayOut,
    );
  }
}

function checkBody(subject: string, body: ToolBody): void {
  const parts: [string, unknown][] = body.type === "execute"
    ? [["execute", body.execute]]
    : (["before", "client", "after"] as const).map((part) => [part, body.phases?.[part]]);
  for (const [part, fn] of parts) {
    if (typeof fn !== "function") {
      throw new DefinitionError(subject, part, "is no function", `write *${part}(…) {…}`);
    }
  }
}

function checkLimits(subject: string, limits: McpToolLimits = {}): void {
  for (const [key, value] of Object.entries(limits)) {
    if (typeof value === "number" && value >= 0) continue;
    throw new DefinitionError(
      subject,
      `limits.${key}`,
      `is ${value}`,
      "give a number of 0 or more",
    );
  }
}
