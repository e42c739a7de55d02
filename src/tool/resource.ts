/** `createMcpResource`: the builder of resources, which clients read by URI. */
import type { Operation } from "effection";
import type { ContentAnnotations, Icon, JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import type { Schema } from "../schema/types.ts";
import { checkedCompleters, checkedCore, checkedMeta } from "./check.ts";
import { toResourceResult } from "./result.ts";
import type {
  Completer,
  ElicitsMap,
  FinalizedMcpResource,
  McpToolContextFor,
  ResourceLister,
  ResourceReturn,
} from "./types.ts";
import type { McpToolLimits, McpToolRequirements, ScopeList } from "./settings.ts";
import { type UriPattern, uriPattern } from "./uri-pattern.ts";

/** The variable names in a URI template. */
export type UriVariables<U extends string> = U extends `${string}{${infer E}}${infer Rest}` ?
    | (E extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer List}`
      ? UriVariables<`{${List}}`>
      : E extends `${infer First},${infer Others}` ? UriVariables<`{${First}}{${Others}}`>
      : E extends `${infer Name}*` ? Name
      : E)
    | UriVariables<Rest>
  : never;

/** Builds a resource. Each method returns a new builder. */
export interface McpResourceBuilder<V extends string, E extends ElicitsMap> {
  /**
   * Sets the URI, or a template such as `notes://{folder}/{name}{?page}` for a family of resources.
   * A variable of a query that the URI does not contain is an empty text.
   */
  uri<U extends string>(uri: U): McpResourceBuilder<UriVariables<U>, E>;
  description(text: string): McpResourceBuilder<V, E>;
  /** Sets the name that people see. */
  title(text: string): McpResourceBuilder<V, E>;
  mimeType(type: string): McpResourceBuilder<V, E>;
  size(bytes: number): McpResourceBuilder<V, E>;
  annotations(annotations: ContentAnnotations): McpResourceBuilder<V, E>;
  icons(icons: readonly Icon[]): McpResourceBuilder<V, E>;
  /** Sets `_meta` in lists, for clients that know its keys, such as `com.example/team`. */
  meta(fields: JsonObject): McpResourceBuilder<V, E>;
  /** Sets the function that lists members of a family for clients. */
  lists(list: ResourceLister): McpResourceBuilder<V, E>;
  /** Sets functions that suggest values for the variables of the template. */
  completes(completers: { readonly [K in V]?: Completer }): McpResourceBuilder<V, E>;
  elicits<Q extends ElicitsMap>(questions: Q): McpResourceBuilder<V, Q>;
  requires(requirements: McpToolRequirements): McpResourceBuilder<V, E>;
  limits(limits: McpToolLimits): McpResourceBuilder<V, E>;
  /**
   * Sets the scopes that a caller needs. Over HTTP, other callers are refused with status 403, or
   * do not see the resource at all (`{ hidden: true }`). Calls over stdio need no scopes.
   */
  scopes(...scopes: ScopeList): McpResourceBuilder<V, E>;
  /** Finishes the resource with the function that returns its contents. */
  read(
    body: (
      address: { readonly uri: string } & { readonly [K in V]: string },
      ctx: McpToolContextFor<E>,
    ) => Operation<ResourceReturn>,
  ): FinalizedMcpResource;
}

interface RawResource {
  readonly name: string;
  readonly uri?: string;
  readonly description?: string;
  readonly title?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: ContentAnnotations;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  readonly list?: ResourceLister;
  readonly completers?: { readonly [variable: string]: Completer };
  readonly elicits?: ElicitsMap;
  readonly requires?: McpToolRequirements;
  readonly limits?: McpToolLimits;
  readonly scopes?: ScopeList;
}

/**
 * Starts the definition of a resource, or of a family of resources with one URI template. Clients
 * list resources by name, and read them by URI.
 *
 * @example
 * ```ts
 * import { createMcpResource } from "parley-mcp";
 *
 * export const note = createMcpResource("note")
 *   .uri("notes://{name}")
 *   .mimeType("text/plain")
 *   .read(function* ({ name }) {
 *     return `A description of ${name}.`;
 *   });
 * ```
 */
// deno-lint-ignore ban-types
export function createMcpResource(name: string): McpResourceBuilder<never, {}> {
  // deno-lint-ignore ban-types
  return builder({ name }) as unknown as McpResourceBuilder<never, {}>;
}

/** The parameters of a resource's body: the URI, and the values of the template's variables. */
const ADDRESS: Schema<unknown> = {
  json: { type: "object" },
  parse: (value) => ({ ok: true, value }),
};

function builder(raw: RawResource) {
  return {
    uri: (uri: string) => builder({ ...raw, uri }),
    description: (description: string) => builder({ ...raw, description }),
    title: (title: string) => builder({ ...raw, title }),
    mimeType: (mimeType: string) => builder({ ...raw, mimeType }),
    size: (size: number) => builder({ ...raw, size }),
    annotations: (annotations: ContentAnnotations) => builder({ ...raw, annotations }),
    icons: (icons: readonly Icon[]) => builder({ ...raw, icons }),
    meta: (meta: JsonObject) => builder({ ...raw, meta }),
    lists: (list: ResourceLister) => builder({ ...raw, list }),
    completes: (completers: { readonly [variable: string]: Completer }) =>
      builder({ ...raw, completers }),
    elicits: (elicits: ElicitsMap) => builder({ ...raw, elicits }),
    requires: (requires: McpToolRequirements) => builder({ ...raw, requires }),
    limits: (limits: McpToolLimits) => builder({ ...raw, limits }),
    scopes: (...scopes: ScopeList) => builder({ ...raw, scopes }),
    read(
      read: (address: { uri: string }, ctx: unknown) => Operation<unknown>,
    ): FinalizedMcpResource {
      const subject = `resource "${raw.name}"`;
      const uri = checkedUri(subject, raw.uri);
      const { mimeType } = raw;
      const core = checkedCore("resource", raw, {
        type: "execute",
        *execute(address, ctx) {
          const value = yield* read(address as { uri: string }, ctx);
          return toResourceResult(value, (address as { uri: string }).uri, mimeType);
        },
      });
      return {
        ...core,
        parameters: ADDRESS,
        uri,
        ...(raw.title !== undefined && { title: raw.title }),
        ...(raw.description !== undefined && { description: raw.description }),
        ...(mimeType !== undefined && { mimeType }),
        ...(raw.size !== undefined && { size: raw.size }),
        ...(raw.annotations && { annotations: raw.annotations }),
        ...(raw.icons && { icons: raw.icons }),
        ...(raw.meta && { meta: checkedMeta(subject, raw.meta) }),
        ...(raw.list && { list: raw.list }),
        completers: checkedCompleters(subject, raw.completers, uri.variables),
      };
    },
  };
}

function checkedUri(subject: string, text: string | undefined): UriPattern {
  const wayOut = "give it in .uri(), as in notes://today or notes://{folder}/{name}";
  if (!text) throw new DefinitionError(subject, "its address", "is missing", wayOut);
  const pattern = uriPattern(text);
  if ("problem" in pattern) {
    throw new DefinitionError(subject, "its address", `does not work: ${pattern.problem}`, wayOut);
  }
  return pattern;
}
