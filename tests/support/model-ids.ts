/** What providers require of the ids of tool calls, for the test models. */
import assert from "node:assert/strict";

const TAKEN = /^[A-Za-z0-9_-]{1,40}$/;

/** Where ids appear in a conversation: in MCP's own format, and in the providers'. */
const FIELDS = new Set(["toolUseId", "tool_use_id", "tool_call_id"]);
const CALLS = new Set(["tool_use", "function"]);

/** All ids of tool calls and results in a request to a model. */
export function modelIdsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(modelIdsIn);
  const record = value as Record<string, unknown>;
  const own = CALLS.has(String(record["type"])) && typeof record["id"] === "string"
    ? [record["id"]]
    : [];
  return Object.entries(record).reduce<string[]>(
    (ids, [name, part]) =>
      FIELDS.has(name) ? [...ids, String(part)] : [...ids, ...modelIdsIn(part)],
    own,
  );
}

/** The error of a provider for an invalid id. */
export function modelIdProblem(messages: unknown): string | undefined {
  const wrong = modelIdsIn(messages).find((id) => !TAKEN.test(id));
  return wrong === undefined
    ? undefined
    : `Invalid id of a tool call: "${wrong}" has ${wrong.length} characters; at most 40 of [A-Za-z0-9_-] are allowed`;
}

/** Fails a test in which a model gets an id that a provider would refuse. */
export function assertModelIds(messages: unknown): void {
  assert.equal(modelIdProblem(messages), undefined);
}
