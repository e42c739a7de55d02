/** Validates the definitions of tools, prompts and resources when they are built. */
import type { Icon, JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import { checkedHeaders } from "../schema/header-parameters.ts";
import { fieldsOf, formSchema, isPlainObject, objectSchema, schemaReader } from "../schema/lazy.ts";
import { SchemaProblem } from "../schema/problem.ts";
import type { Schema, SchemaInput } from "../schema/types.ts";
import { DOORS } from "../model/events.ts";
import type { AnsweredBy, ElicitForm } from "./elicit-types.ts";
import type {
  McpToolDurability,
  McpToolLimits,
  McpToolRequirements,
  McpToolTask,
  RequiredScopes,
  ScopeList,
  ToolAnnotations,
} from "./settings.ts";
import { checkedVisibility, type ToolVisibility, type ViewInput, viewLoader } from "./view.ts";
import type { Completer, Definition, ElicitsMap, FinalizedMcpTool, ToolBody } from "./types.ts";

/** A definition as the author wrote it. */
export interface RawDefinition {
  readonly name: string;
  readonly description?: string;
  readonly title?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  readonly parameters?: SchemaInput;
  readonly output?: SchemaInput;
  readonly elicits?: ElicitsMap;
  readonly requires?: McpToolRequirements;
  readonly limits?: McpToolLimits;
  readonly scopes?: ScopeList;
  readonly task?: McpToolTask;
  readonly durable?: McpToolDurability;
  readonly view?: ViewInput;
  readonly visibility?: readonly ToolVisibility[];
}

/** The names of the server's own tools, with which models continue calls that wait for a person. */
const RESERVED: readonly string[] = ["continue_call", "answer_call"];

/** The allowed tool names in MCP since revision 2025-11-25. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

const NO_PARAMETERS: SchemaInput = {
  type: "object",
  properties: {},
  additionalProperties: false,
};

/** The schema of a tool without parameters, with a fast path for empty arguments. */
function noParameters(): Schema<unknown> {
  const { json, parse } = objectSchema(NO_PARAMETERS, "input");
  return { json, parse: (value) => isEmpty(value) ? { ok: true, value } : parse(value) };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  for (const _key in value) return false;
  return true;
}

export function checkedDefinition(raw: RawDefinition, body: ToolBody): FinalizedMcpTool {
  const subject = `tool "${String(raw.name)}"`;
  const core = checkedCore("tool", raw, body);
  return {
    ...core,
    // A plain Zod object cannot mark header parameters.
    headerParameters: raw.parameters && isPlainObject(raw.parameters)
      ? []
      : checkedHeaders(subject, core.parameters.json),
    ...(raw.task && { task: checkedTask(subject, raw.task) }),
    description: refuseUndescribed(subject, raw.description),
    ...(raw.title !== undefined && { title: raw.title }),
    ...(raw.annotations && { annotations: raw.annotations }),
    ...(raw.icons && { icons: raw.icons }),
    ...(raw.meta && { meta: checkedMeta(subject, raw.meta) }),
    ...(raw.view !== undefined && { view: viewLoader(subject, raw.view) }),
    ...(raw.visibility && { visibility: checkedVisibility(subject, raw.visibility) }),
    ...("output" in raw && {
      output: withField(subject, "output", () => objectSchema(raw.output!, "output")),
    }),
  };
}

/** Validates the properties that tools, prompts and resources have in common. */
export function checkedCore<K extends Definition["kind"]>(
  kind: K,
  raw: Pick<
    RawDefinition,
    "name" | "parameters" | "elicits" | "requires" | "limits" | "scopes" | "durable"
  >,
  body: ToolBody,
): Definition & { kind: K } {
  const { name } = raw;
  const subject = `${kind} "${String(name)}"`;
  // MCP restricts only tool names.
  if (typeof name !== "string" || !(kind === "tool" ? NAME.test(name) : name.trim())) {
    throw new DefinitionError(
      subject,
      "its name",
      kind === "tool" ? "is not a valid tool name in MCP" : "is empty",
      kind === "tool"
        ? "use 1 to 128 letters, digits, underscores, hyphens and dots"
        : "give it one",
    );
  }
  if (kind === "tool" && RESERVED.includes(name)) {
    throw new DefinitionError(subject, "its name", "is reserved", "give it another name");
  }
  checkBody(subject, body);
  checkLimits(subject, raw.limits);
  const { destructiveHint } = kind === "tool" ? (raw as RawDefinition).annotations ?? {} : {};
  return {
    kind,
    name,
    // If two files import each other, a schema may be undefined by mistake. Do not treat that as
    // "no parameters".
    parameters: withField(
      subject,
      "parameters",
      () => "parameters" in raw ? objectSchema(raw.parameters!, "input") : noParameters(),
    ),
    elicits: new Map(
      Object.entries(raw.elicits ?? {}).map(([key, question]) => [
        key,
        checkedForm(subject, key, question, destructiveHint ? "person" : "anyone"),
      ]),
    ),
    requires: raw.requires ?? {},
    limits: raw.limits ?? {},
    ...(raw.scopes && { scopes: checkedScopes(subject, raw.scopes) }),
    schemas: schemaReader,
    ...(raw.durable && { durable: raw.durable }),
    body,
  };
}

/** Prefixes that MCP reserves, such as `io.modelcontextprotocol/` and `dev.mcp/`. */
const RESERVED_META = /^(?:[^/]+\.)?(?:modelcontextprotocol|mcp)(?:\.[^/]*)?\//;

export function checkedMeta(subject: string, meta: JsonObject): JsonObject {
  const wrong = Object.keys(meta).find((key) => key === "ui" || RESERVED_META.test(key));
  if (wrong === undefined) return meta;
  throw new DefinitionError(
    subject,
    `the key "${wrong}" of meta`,
    "is reserved",
    wrong === "ui" ? "use .view()" : 'use a prefix of your own, as in "com.example/team"',
  );
}

/** The characters that RFC 6749 allows in a scope. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export function checkedScopes(subject: string, list: ScopeList): RequiredScopes {
  const last = list.at(-1);
  const { hidden = false } = typeof last === "object" ? last : {};
  const all = (typeof last === "object" ? list.slice(0, -1) : list) as readonly string[];
  const wrong = all.find((scope) => typeof scope !== "string" || !SCOPE.test(scope));
  if (wrong !== undefined || all.length === 0) {
    throw new DefinitionError(
      subject,
      "scopes",
      wrong === undefined ? "are missing" : `contain ${JSON.stringify(wrong)}, which is no scope`,
      'name each scope on its own, as in .scopes("flights:read", "flights:book")',
    );
  }
  if (all.includes("offline_access")) {
    throw new DefinitionError(
      subject,
      "scopes",
      'contain "offline_access", with which clients ask for refresh tokens',
      "leave it out",
    );
  }
  return { all: [...new Set(all)], hidden };
}

export function refuseUndescribed(subject: string, description: unknown): string {
  if (typeof description === "string" && description.trim() !== "") return description;
  throw new DefinitionError(
    subject,
    "its description",
    "is missing",
    "describe in .description() what it does: models choose tools by their descriptions",
  );
}

/** Throws if a completer is for an argument or variable that does not exist. */
export function checkedCompleters(
  subject: string,
  completers: { readonly [name: string]: Completer } = {},
  known: readonly string[],
): ReadonlyMap<string, Completer> {
  for (const name of Object.keys(completers)) {
    if (known.includes(name)) continue;
    throw new DefinitionError(
      subject,
      `completes.${name}`,
      "is for an argument or variable that does not exist",
      known.length > 0 ? `use one of ${known.join(", ")}` : "leave it out",
    );
  }
  return new Map(Object.entries(completers));
}

function checkedForm(
  subject: string,
  key: string,
  question: ElicitsMap[string],
  defaultBy: AnsweredBy,
): ElicitForm {
  const where = `elicits.${key}`;
  if (typeof question !== "object" || question === null || !("response" in question)) {
    throw new DefinitionError(
      subject,
      where,
      "has no response",
      "give the form's schema as { response: z.object({ … }) }",
    );
  }
  const response = withField(
    subject,
    `${where}.response`,
    () => formSchema(question.response),
  );
  const sensitive = question.sensitive ?? [];
  const fields = sensitive.length > 0 ? fieldsOf(question.response, response) : [];
  for (const field of sensitive) {
    if (fields.includes(field)) continue;
    throw new DefinitionError(
      subject,
      `${where}.sensitive`,
      `names "${field}", which the form does not have`,
      fields.length > 0 ? `use one of ${fields.join(", ")}` : "leave it out",
    );
  }
  return {
    key,
    response,
    context: "context" in question
      ? checkedContext(subject, `${where}.context`, question.context!)
      : undefined,
    sensitive,
    ...checkedDoors(subject, where, { by: defaultBy, ...question }),
  };
}

const ANSWERED_BY: readonly unknown[] = ["anyone", "person", "signed-in"] satisfies AnsweredBy[];

function checkedDoors(
  subject: string,
  where: string,
  { by = "anyone", doors }: ElicitsMap[string],
): Pick<ElicitForm, "by" | "doors"> {
  if (!ANSWERED_BY.includes(by)) {
    const names = ANSWERED_BY.join(", ");
    throw new DefinitionError(subject, `${where}.by`, `is "${by}"`, `use one of ${names}`);
  }
  const stray = doors?.find((door) => !DOORS.includes(door));
  if (stray !== undefined || doors?.length === 0) {
    throw new DefinitionError(
      subject,
      `${where}.doors`,
      stray === undefined ? "is empty" : `contains "${stray}", which is not a door`,
      `use some of ${DOORS.join(", ")}, or leave it out`,
    );
  }
  return { by, ...(doors && { doors }) };
}

function checkedContext(subject: string, where: string, input: SchemaInput): Schema {
  const context = withField(subject, where, () => objectSchema(input, "input"));
  if (!fieldsOf(input, context).includes("message")) return context;
  throw new DefinitionError(
    subject,
    `${where}.message`,
    "is reserved: ctx.elicit takes the message of the question in a field of this name",
    "give the field another name",
  );
}

/** Converts a schema error to a `DefinitionError`, which names the tool and the field. */
function withField<S extends Schema>(subject: string, field: string, make: () => S): S {
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
    const wayOut = part === "execute"
      ? "write execute(function* (params, ctx) {…})"
      : `write *${part}(…) {…}`;
    if (typeof fn !== "function") {
      throw new DefinitionError(subject, part, "is not a function", wayOut);
    }
    if (/Async/.test(Object.prototype.toString.call(fn))) {
      throw new DefinitionError(
        subject,
        part,
        "is an async function, which cannot be halted",
        `${wayOut}, with yield* until(promise) for await`,
      );
    }
  }
}

/**
 * Validates the task settings. Times must be whole milliseconds, because clients receive them
 * unchanged.
 */
function checkedTask(subject: string, task: McpToolTask): McpToolTask {
  for (const key of ["ttl", "pollInterval"] as const) {
    const value = task[key];
    if (value === undefined || Number.isSafeInteger(value) && value > 0) continue;
    throw new DefinitionError(
      subject,
      `task.${key}`,
      `is ${value}`,
      "give whole milliseconds, more than 0",
    );
  }
  const { start } = task;
  if (start !== undefined && start !== "at_once" && start !== "when_told") {
    throw new DefinitionError(
      subject,
      "task.start",
      `is "${start}"`,
      'say "at_once" or "when_told"',
    );
  }
  return task;
}

const LIMITS: readonly string[] = ["maxDepth", "maxTokens", "timeout"];

function checkLimits(subject: string, limits: McpToolLimits = {}): void {
  for (const [key, value] of Object.entries(limits)) {
    if (!LIMITS.includes(key)) {
      throw new DefinitionError(
        subject,
        `limits.${key}`,
        "is not a known limit",
        `use ${LIMITS.join(", ")}`,
      );
    }
    if (typeof value === "number" && value >= 0) continue;
    throw new DefinitionError(
      subject,
      `limits.${key}`,
      `is ${value}`,
      "give a number of 0 or more",
    );
  }
}
