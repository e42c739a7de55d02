/**
 * Queries: list and completion requests. A query never asks the client a question. Both eras
 * answer queries in the same way.
 */
import type { Operation } from "effection";
import { Buffer } from "node:buffer";
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import { ProtocolError } from "../model/errors.ts";
import type { ClientInfo } from "../model/events.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import type { Completer, ListedResource } from "../tool/types.ts";
import type { ServerCore } from "./core.ts";
import { doorTools } from "./doors/continue-call.ts";
import { listedPrompt, listedResource, listedTemplate, listedTool } from "./listing.ts";

/** The maximum number of completion suggestions that the protocol allows. */
const MAX_SUGGESTIONS = 100;

export type Query = (
  core: ServerCore,
  params: JsonObject,
  client: ClientInfo,
) => Operation<JsonObject>;

/** The queries by method. */
export const QUERIES: { readonly [method: string]: Query | undefined } = {
  // Method names come from clients, and must not match properties of `Object.prototype`.
  __proto__: null as never,
  "tools/list": function* (core, params, client) {
    const tools = [...core.catalog.tools.values(), ...doorTools(core.catalog)];
    const { page, nextCursor } = pageOf(core, params, tools, (tool) => tool.name);
    return { tools: page.map((tool) => listedTool(tool, client)), ...nextCursor };
  },
  "prompts/list": function* (core, params) {
    const prompts = [...core.catalog.prompts.values()];
    const { page, nextCursor } = pageOf(core, params, prompts, (prompt) => prompt.name);
    return { prompts: page.map(listedPrompt), ...nextCursor };
  },
  "resources/list": function* (core, params) {
    const { page, nextCursor } = pageOf(core, params, yield* allResources(core), ({ uri }) => uri);
    return { resources: page, ...nextCursor };
  },
  "resources/templates/list": function* (core, params) {
    const templates = [...core.catalog.resources.values()].filter(({ uri }) =>
      uri.variables.length > 0
    );
    const { page, nextCursor } = pageOf(core, params, templates, ({ uri }) => uri.text);
    return { resourceTemplates: page.map(listedTemplate), ...nextCursor };
  },
  "completion/complete": complete,
};

/** Lists each URI only once, because the cursor of a page is the last URI of the page before. */
function* allResources(core: ServerCore): Operation<readonly ListedResource[]> {
  const listed = new Map<string, ListedResource>();
  const add = (resource: ListedResource) => {
    if (!listed.has(resource.uri)) listed.set(resource.uri, resource);
  };
  for (const resource of [...core.catalog.resources.values()]) {
    if (resource.uri.variables.length === 0) add(listedResource(resource));
    else if (resource.list) (yield* resource.list()).forEach(add);
  }
  return [...listed.values()];
}

/** Returns one page of a list. It starts after the entry that the cursor identifies. */
function pageOf<T>(
  { limits: { pageSize } }: ServerCore,
  { cursor }: JsonObject,
  entries: readonly T[],
  key: (entry: T) => string,
): { page: readonly T[]; nextCursor: { nextCursor?: string } } {
  const start = cursor === undefined
    ? 0
    : entries.findIndex((e) => toCursor(key(e)) === cursor) + 1;
  if (cursor !== undefined && start === 0) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot continue the list: the cursor is unknown, or its entry was removed; list again without a cursor",
    );
  }
  const page = entries.slice(start, start + pageSize);
  const more = start + pageSize < entries.length;
  return { page, nextCursor: more ? { nextCursor: toCursor(key(page.at(-1)!)) } : {} };
}

function toCursor(key: string): string {
  return Buffer.from(key).toString("base64url");
}

function* complete(core: ServerCore, params: JsonObject): Operation<JsonObject> {
  const { ref, argument, context } = params;
  if (
    !isObject(ref) || !isObject(argument) || typeof argument.name !== "string" ||
    typeof argument.value !== "string"
  ) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot suggest completions: ref or argument is missing; send both",
    );
  }
  const completers = completersOf(core, ref);
  const values = yield* completers.get(argument.name)?.(argument.value, othersIn(context)) ??
    nothing();
  return {
    completion: {
      values: values.slice(0, MAX_SUGGESTIONS),
      total: values.length,
      hasMore: values.length > MAX_SUGGESTIONS,
    },
  };
}

/** The arguments that the user has already filled in. */
function othersIn(context: unknown): { [name: string]: string } {
  if (!isObject(context) || !isObject(context.arguments)) return {};
  const texts = Object.entries(context.arguments).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts) as { [name: string]: string };
}

function* nothing(): Operation<readonly string[]> {
  return [];
}

function completersOf({ catalog }: ServerCore, ref: JsonObject): ReadonlyMap<string, Completer> {
  const found = ref.type === "ref/prompt"
    ? catalog.prompts.get(ref.name as string)
    : ref.type === "ref/resource"
    ? [...catalog.resources.values()].find(({ uri }) => uri.text === ref.uri)
    : undefined;
  if (!found) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot suggest completions: there is no such prompt or resource; list them to see which exist`,
    );
  }
  return found.completers;
}
