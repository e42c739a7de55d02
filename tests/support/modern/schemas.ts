/**
 * What a server may send in 2026-07-28: the official Zod schemas, narrowed to that
 * revision. The official ones are lenient for older servers, so the requirements of the
 * revision (`resultType`, caching hints, no unknown fields) are added here.
 */
import * as core from "@modelcontextprotocol/core";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Message } from "../exchange.ts";
import { skillResults } from "../skill-schemas.ts";

const complete = { resultType: z.literal("complete") };
const cacheable = {
  ...complete,
  ttlMs: z.int().nonnegative(),
  cacheScope: z.enum(["public", "private"]),
};

const urlMode = core.ElicitRequestURLParamsSchema.strict();
const inputRequest = z.union([
  z.strictObject({
    method: z.literal("elicitation/create"),
    params: z.union([urlMode, core.ElicitRequestFormParamsSchema.strict()]),
  }),
  z.strictObject({
    method: z.literal("sampling/createMessage"),
    params: core.CreateMessageRequestParamsSchema.strict(),
  }),
  core.ListRootsRequestSchema.strict(),
]);
const inputRequests = z.record(z.string(), inputRequest)
  .refine((requests) => Object.keys(requests).length > 0, "it asks nothing");

const serverInfo = z.looseObject({
  "io.modelcontextprotocol/serverInfo": core.ImplementationSchema.strict(),
});

const inputRequired = z.strictObject({
  resultType: z.literal("input_required"),
  inputRequests,
  requestState: z.string().min(1),
  _meta: serverInfo,
});

// The tasks extension, as in SEP 2663.
const task = {
  taskId: z.string().min(1),
  createdAt: z.iso.datetime(),
  lastUpdatedAt: z.iso.datetime(),
  ttlMs: z.int().positive().nullable(),
  pollIntervalMs: z.int().positive().optional(),
  statusMessage: z.string().optional(),
};
const callResult = core.CallToolResultSchema.extend(complete).strict();
const rpcError = z.strictObject({
  code: z.int(),
  message: z.string(),
  data: z.unknown().optional(),
});

function detailed(fields: z.ZodRawShape) {
  return z.discriminatedUnion("status", [
    z.strictObject({ ...fields, ...task, status: z.literal("working") }),
    z.strictObject({ ...fields, ...task, status: z.literal("input_required"), inputRequests }),
    z.strictObject({ ...fields, ...task, status: z.literal("completed"), result: callResult }),
    z.strictObject({ ...fields, ...task, status: z.literal("failed"), error: rpcError }),
    z.strictObject({ ...fields, ...task, status: z.literal("cancelled") }),
  ]);
}

const createTask = z.strictObject({
  resultType: z.literal("task"),
  ...task,
  status: z.enum(["working", "input_required"]),
  _meta: serverInfo,
});
const acknowledged = z.strictObject({ ...complete, _meta: serverInfo });

const results: { readonly [method: string]: readonly z.ZodType[] } = {
  "server/discover": [core.DiscoverResultSchema.extend(cacheable).strict()],
  "tools/list": [core.ListToolsResultSchema.extend(cacheable).strict()],
  "prompts/list": [core.ListPromptsResultSchema.extend(cacheable).strict()],
  "resources/list": [core.ListResourcesResultSchema.extend(cacheable).strict()],
  "resources/templates/list": [core.ListResourceTemplatesResultSchema.extend(cacheable).strict()],
  "resources/read": [core.ReadResourceResultSchema.extend(cacheable).strict(), inputRequired],
  "prompts/get": [core.GetPromptResultSchema.extend(complete).strict(), inputRequired],
  "completion/complete": [core.CompleteResultSchema.extend(complete).strict()],
  "tools/call": [callResult, inputRequired, createTask],
  "subscriptions/listen": [core.SubscriptionsListenResultSchema.extend(complete).strict()],
  "tasks/get": [detailed({ ...complete, _meta: serverInfo })],
  "tasks/update": [acknowledged],
  "tasks/cancel": [acknowledged],
  ...Object.fromEntries(
    Object.entries(skillResults).map((
      [method, result],
    ) => [method, [result.extend({ ...cacheable, _meta: serverInfo })]]),
  ),
};

const subscribed = z.looseObject({
  "io.modelcontextprotocol/subscriptionId": core.RequestIdSchema,
});
const notifications: { readonly [method: string]: z.ZodType } = {
  "notifications/progress": core.ProgressNotificationParamsSchema.strict(),
  "notifications/message": core.LoggingMessageNotificationParamsSchema.strict(),
  "notifications/tools/list_changed": z.strictObject({ _meta: subscribed }),
  "notifications/prompts/list_changed": z.strictObject({ _meta: subscribed }),
  "notifications/resources/list_changed": z.strictObject({ _meta: subscribed }),
  "notifications/resources/updated": z.strictObject({ _meta: subscribed, uri: z.string() }),
  "notifications/subscriptions/acknowledged": z.strictObject({
    _meta: subscribed,
    notifications: core.SubscriptionFilterSchema.extend({
      taskIds: z.array(z.string()).optional(),
    }).strict(),
  }),
  "notifications/tasks": detailed({ _meta: subscribed }),
};

/** The protocol's own errors have data of a fixed shape. */
const errorData: { readonly [code: number]: z.ZodType } = {
  [-32021]: z.strictObject({ requiredCapabilities: z.looseObject({}) }),
  [-32022]: z.strictObject({ supported: z.array(z.string()), requested: z.string() }),
};
const STANDARD = [-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022];

/** What is wrong with a message from a server. `method` is the method of the posted request. */
export function complaintsAbout(message: Message, method: string | undefined): string[] {
  const { error, result } = message;
  if (error !== undefined) return errorComplaints(message);
  if (result !== undefined) {
    const { success } = core.JSONRPCResultResponseSchema.strict().safeParse(message);
    const schemas = results[method ?? ""] ?? [];
    const problems = schemas.map((schema) => problemOf(schema, result));
    const fits = success && problems.includes(undefined);
    return fits ? [] : [`${method}: ${JSON.stringify(message)}: ${problems.join("; ")}`];
  }
  const schema = notifications[message.method ?? ""];
  if (!schema || message.id !== undefined) return [`unexpected: ${JSON.stringify(message)}`];
  const problem = problemOf(schema, message.params);
  return problem === undefined ? [] : [`${JSON.stringify(message)}: ${problem}`];
}

function errorComplaints(message: Message): string[] {
  const problem = problemOf(core.JSONRPCErrorResponseSchema, message);
  if (problem !== undefined) return [`${JSON.stringify(message)}: ${problem}`];
  const { code, data } = message.error;
  if (code <= -32000 && code >= -32768 && !STANDARD.includes(code)) return [`code ${code}`];
  const form = errorData[code];
  const wrong = form && problemOf(form, data);
  return wrong === undefined ? [] : [`${JSON.stringify(message)}: ${wrong}`];
}

/** A field that a schema drops silently counts as a problem too. */
function problemOf(schema: z.ZodType, value: unknown): string | undefined {
  const parsed = schema.safeParse(value);
  if (!parsed.success) return z.prettifyError(parsed.error);
  const kept = JSON.parse(JSON.stringify(parsed.data));
  return isDeepStrictEqual(kept, value) ? undefined : `it keeps only ${JSON.stringify(kept)}`;
}
