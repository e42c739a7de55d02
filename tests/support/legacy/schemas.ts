/**
 * The official schemas of each legacy revision: the Zod schemas of the official
 * SDK, in the release that was current for that revision.
 *
 * Those schemas allow unknown fields. In forms and in requests to a model, where an
 * unknown field would break an older client, the fields are checked strictly.
 *
 * URL elicitation is checked against the revision that introduced it: a client may
 * declare it under an older one.
 */
import type { LegacyVersion } from "../../../src/wire/versions.ts";
import type { Message } from "../exchange.ts";
import { skillResults } from "../skill-schemas.ts";

interface Schema {
  safeParse(value: unknown): { success: boolean; error?: unknown };
  strict(): Schema;
}
type Schemas = { readonly [name: string]: Schema };

const modules: Record<LegacyVersion, string> = {
  "2024-11-05": "mcp-sdk-2024-11-05/types.js",
  "2025-03-26": "mcp-sdk-2025-03-26/types.js",
  "2025-06-18": "mcp-sdk-2025-06-18/types.js",
  "2025-11-25": "@modelcontextprotocol/sdk/types.js",
};

const results: { readonly [method: string]: string } = {
  "initialize": "InitializeResultSchema",
  "ping": "EmptyResultSchema",
  "logging/setLevel": "EmptyResultSchema",
  "resources/subscribe": "EmptyResultSchema",
  "resources/unsubscribe": "EmptyResultSchema",
  "tools/list": "ListToolsResultSchema",
  "tools/call": "CallToolResultSchema",
  "prompts/list": "ListPromptsResultSchema",
  "prompts/get": "GetPromptResultSchema",
  "resources/list": "ListResourcesResultSchema",
  "resources/templates/list": "ListResourceTemplatesResultSchema",
  "resources/read": "ReadResourceResultSchema",
  "completion/complete": "CompleteResultSchema",
};

/** The fields of a form, by the revisions that have forms. */
const fields: { readonly [version: string]: readonly string[] } = {
  "2025-06-18": [
    "BooleanSchemaSchema",
    "EnumSchemaSchema",
    "StringSchemaSchema",
    "NumberSchemaSchema",
  ],
  "2025-11-25": [
    "BooleanSchemaSchema",
    "UntitledSingleSelectEnumSchemaSchema",
    "TitledSingleSelectEnumSchemaSchema",
    "LegacyTitledEnumSchemaSchema",
    "UntitledMultiSelectEnumSchemaSchema",
    "TitledMultiSelectEnumSchemaSchema",
    "StringSchemaSchema",
    "NumberSchemaSchema",
  ],
};

const loaded = new Map<LegacyVersion, Promise<Schemas>>();

function schemasOf(version: LegacyVersion): Promise<Schemas> {
  let schemas = loaded.get(version);
  if (!schemas) loaded.set(version, schemas = import(modules[version]));
  return schemas;
}

/**
 * What is wrong with a message from a server. `method` is the method of the request that it
 * answers, if any.
 */
export async function complaintsAbout(
  spoken: LegacyVersion,
  message: Message,
  method?: string,
): Promise<string[]> {
  const version = isAboutUrl(message) ? "2025-11-25" : spoken;
  const schemas = await schemasOf(version);
  const complaints: string[] = [];
  const check = (name: string, value: unknown, schema = schemas[name]) => {
    const outcome = schema?.safeParse(value) ??
      { success: false, error: "there is no such schema" };
    if (!outcome.success) complaints.push(`${version} ${name}: ${outcome.error}`);
  };
  if (message.error !== undefined) {
    // An error without a matching request has no id; only the newest schema allows that.
    if (message.id !== undefined) check("JSONRPCErrorSchema", message);
    else check("JSONRPCErrorSchema", { id: 0, ...message });
    if (message.result !== undefined) complaints.push("both a result and an error");
  } else if (message.result !== undefined) {
    check("JSONRPCResponseSchema", message);
    const name = results[method ?? ""];
    const own = skillResults[method as keyof typeof skillResults];
    if (name) check(name, message.result);
    else if (own) complaints.push(...problemsOf(own.safeParse(message.result)));
    else complaints.push(`a result for "${method}", which has none`);
  } else if (message.id !== undefined) {
    check("JSONRPCRequestSchema", message);
    const { method, params } = message;
    check("ServerRequestSchema", { method, ...(params !== undefined && { params }) });
    if (method === "elicitation/create") {
      complaints.push(...formComplaints(version, schemas, params));
    }
    if (method === "sampling/createMessage") complaints.push(...sampleComplaints(version, params));
  } else {
    check("JSONRPCNotificationSchema", message);
    const { method, params } = message;
    check("ServerNotificationSchema", { method, ...(params !== undefined && { params }) });
  }
  return complaints;
}

function isAboutUrl({ method, params }: Message): boolean {
  return method === "notifications/elicitation/complete" ||
    method === "elicitation/create" && params?.mode === "url";
}

/** A default is kept for older clients, whose schemas allow it. */
function strictly(version: LegacyVersion, field: unknown): unknown {
  if (version === "2025-11-25") return field;
  const { default: preset, ...rest } = field as { default?: unknown };
  return typeof preset === "boolean" ? field : rest;
}

// deno-lint-ignore no-explicit-any
function formComplaints(version: LegacyVersion, schemas: Schemas, params: any): string[] {
  if (params.mode === "url") return extra(params, ["mode", "message", "url", "elicitationId"]);
  const known = ["message", "requestedSchema", ...(version === "2025-11-25" ? ["mode"] : [])];
  // Clients that draw forms with apps declare so, and only the newest revision has such clients.
  if (version === "2025-11-25" && params._meta?.ui) known.push("_meta");
  const complaints = [
    ...extra(params, known),
    ...extra(params._meta ?? {}, ["ui"]),
    ...extra(params.requestedSchema, ["type", "properties", "required"]),
  ];
  for (const [name, field] of Object.entries(params.requestedSchema.properties)) {
    const checked = strictly(version, field);
    const fits = fields[version]?.some((kind) =>
      schemas[kind]!.strict().safeParse(checked).success
    );
    if (!fits) complaints.push(`${version} has no field like ${name}: ${JSON.stringify(field)}`);
  }
  return complaints;
}

// deno-lint-ignore no-explicit-any
function sampleComplaints(version: LegacyVersion, params: any): string[] {
  if (version === "2025-11-25") return [];
  const kinds = ["text", "image", ...(version === "2024-11-05" ? [] : ["audio"])];
  return [
    ...["tools", "toolChoice"].filter((key) => key in params).map((key) =>
      `${version} has no ${key}`
    ),
    // deno-lint-ignore no-explicit-any
    ...params.messages.filter(({ content }: any) => !kinds.includes(content.type))
      .map((message: unknown) => `${version} has no message like ${JSON.stringify(message)}`),
  ];
}

function extra(value: object, known: readonly string[]): string[] {
  return Object.keys(value).filter((key) => !known.includes(key)).map((key) => `unknown "${key}"`);
}

function problemsOf({ error }: { readonly error?: unknown }): string[] {
  return error === undefined ? [] : [String(error)];
}
