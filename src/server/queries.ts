/**
 * Queries: list and completion requests. A query never asks the client a question. Both eras
 * answer queries in the same way.
 */
import type { Operation } from "effection";
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import { ProtocolError } from "../model/errors.ts";
import type { ClientInfo } from "../model/events.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import { namedPrincipal } from "../model/principal.ts";
import type {
  Completer,
  Definition,
  FinalizedMcpPrompt,
  FinalizedMcpResource,
  ListedResource,
  QueryContext,
} from "../tool/types.ts";
import type { CheckedCaller } from "./access.ts";
import type { ServerCore } from "./core.ts";
import { doorTools } from "./doors/door-tools.ts";
import { listedPrompt, listedResource, listedTemplate, listedTool } from "./listing.ts";
import { pageOf } from "./page-of.ts";
import {
  getSkill,
  isOfSkills,
  listSkills,
  readDirectory,
  skillOf,
  skillResources,
} from "./skills.ts";

/** The maximum number of completion suggestions that the protocol allows. */
const MAX_SUGGESTIONS = 100;

export type Query = (
  core: ServerCore,
  params: JsonObject,
  client: ClientInfo,
  caller: CheckedCaller,
) => Operation<JsonObject>;

/**
 * Checks the scopes that a query needs, before it starts. Lists need none: they contain what the
 * caller may see.
 */
export function checkQuery(
  core: ServerCore,
  method: string,
  { ref, uri }: JsonObject,
  caller: CheckedCaller,
): void {
  const found = method === "completion/complete"
    ? isObject(ref) && referenced(core, ref, caller)
    : isOfSkills(method) && skillOf(core, uri, caller);
  if (found) core.access.check(found, caller);
}

/** The query for a method. Undefined if the server has no such query. */
export function queryFor({ catalog }: ServerCore, method: string): Query | undefined {
  return isOfSkills(method) && catalog.skills.size === 0 ? undefined : QUERIES[method];
}

/** The queries by method. */
const QUERIES: { readonly [method: string]: Query | undefined } = {
  // Method names come from clients, and must not match properties of `Object.prototype`.
  __proto__: null as never,
  "tools/list": function* (core, params, client, caller) {
    const tools = [...shown(core, core.catalog.tools, caller), ...doorTools(core.catalog)];
    const { page, nextCursor } = pageOf(core, params, tools, (tool) => tool.name);
    return { tools: page.map((tool) => listedTool(tool, client)), ...nextCursor };
  },
  "prompts/list": function* (core, params, _client, caller) {
    const prompts = shown(core, core.catalog.prompts, caller);
    const { page, nextCursor } = pageOf(core, params, prompts, (prompt) => prompt.name);
    return { prompts: page.map(listedPrompt), ...nextCursor };
  },
  "resources/list": function* (core, params, _client, caller) {
    const resources = yield* allResources(core, caller);
    const { page, nextCursor } = pageOf(core, params, resources, ({ uri }) => uri);
    return { resources: page, ...nextCursor };
  },
  "resources/templates/list": function* (core, params, _client, caller) {
    const templates = shown(core, core.catalog.resources, caller).filter(({ uri }) =>
      uri.variables.length > 0
    );
    const { page, nextCursor } = pageOf(core, params, templates, ({ uri }) => uri.text);
    return { resourceTemplates: page.map(listedTemplate), ...nextCursor };
  },
  "skills/list": (core, params, _client, caller) => listSkills(core, params, caller),
  "skills/get": (core, params, _client, caller) => getSkill(core, params, caller),
  "resources/directory/read": (core, params, _client, caller) =>
    readDirectory(core, params, caller),
  "completion/complete": complete,
};

/** Lists each URI only once, because the cursor of a page is the last URI of the page before. */
function* allResources(
  core: ServerCore,
  caller: CheckedCaller,
): Operation<readonly ListedResource[]> {
  const listed = new Map<string, ListedResource>();
  const add = (resource: ListedResource) => {
    if (!listed.has(resource.uri)) listed.set(resource.uri, resource);
  };
  for (const resource of shown(core, core.catalog.resources, caller)) {
    if (resource.uri.variables.length === 0) add(listedResource(resource));
    else if (resource.list) (yield* resource.list(contextOf(caller))).forEach(add);
  }
  skillResources(core, caller).forEach(add);
  return [...listed.values()];
}

/** The definitions that a caller can see. */
function shown<D extends Definition>(
  { access }: ServerCore,
  shelf: ReadonlyMap<string, D>,
  { who }: CheckedCaller,
): D[] {
  return [...shelf.values()].filter((definition) => access.shows(definition, who));
}

function contextOf({ who }: CheckedCaller): QueryContext {
  return { principal: who ?? namedPrincipal("") };
}

function* complete(
  core: ServerCore,
  params: JsonObject,
  _client: ClientInfo,
  caller: CheckedCaller,
): Operation<JsonObject> {
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
  const completers = completersOf(core, ref, caller);
  const values =
    yield* completers.get(argument.name)?.(argument.value, othersIn(context), contextOf(caller)) ??
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

function completersOf(
  core: ServerCore,
  ref: JsonObject,
  caller: CheckedCaller,
): ReadonlyMap<string, Completer> {
  const found = referenced(core, ref, caller);
  if (!found) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot suggest completions: there is no such prompt or resource; list them to see which exist`,
    );
  }
  return found.completers;
}

/** The prompt or resource that a completion is for. Undefined if the caller cannot see it. */
function referenced(
  { catalog, access }: ServerCore,
  ref: JsonObject,
  { who }: CheckedCaller,
): FinalizedMcpPrompt | FinalizedMcpResource | undefined {
  const found = ref.type === "ref/prompt"
    ? catalog.prompts.get(ref.name as string)
    : ref.type === "ref/resource"
    ? [...catalog.resources.values()].find(({ uri }) => uri.text === ref.uri)
    : undefined;
  return found && access.shows(found, who) ? found : undefined;
}
