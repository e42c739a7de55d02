/** `createMcpPrompt`: the builder of prompts, which people choose by name. */
import type { Operation } from "effection";
import type { Icon, JsonObject } from "../model/content.ts";
import type { Infer, SchemaInput } from "../schema/types.ts";
import { checkedCompleters, checkedCore, checkedMeta, refuseUndescribed } from "./check.ts";
import type {
  Completer,
  ElicitsMap,
  FinalizedMcpPrompt,
  McpToolContextFor,
  PromptArgument,
  PromptReturn,
} from "./types.ts";
import type { McpToolLimits, McpToolRequirements, ScopeList } from "./settings.ts";

/** Builds a prompt. Each method returns a new builder. */
export interface McpPromptBuilder<A, E extends ElicitsMap> {
  /** Sets the description: what the prompt is for. */
  description(text: string): McpPromptBuilder<A, E>;
  /** Sets the name that people see. */
  title(text: string): McpPromptBuilder<A, E>;
  icons(icons: readonly Icon[]): McpPromptBuilder<A, E>;
  /** Sets `_meta` in lists, for clients that know its keys, such as `com.example/team`. */
  meta(fields: JsonObject): McpPromptBuilder<A, E>;
  /**
   * Sets the schema of the arguments, which the person fills in. It must be an object schema.
   * Values arrive as strings.
   */
  arguments<S extends SchemaInput>(schema: S): McpPromptBuilder<Infer<S>, E>;
  /** Suggests values while the person types. */
  completes(
    completers: { readonly [K in keyof A]?: Completer },
  ): McpPromptBuilder<A, E>;
  elicits<Q extends ElicitsMap>(questions: Q): McpPromptBuilder<A, Q>;
  requires(requirements: McpToolRequirements): McpPromptBuilder<A, E>;
  limits(limits: McpToolLimits): McpPromptBuilder<A, E>;
  /**
   * Sets the scopes that a caller needs. Over HTTP, other callers are refused with status 403, or
   * do not see the prompt at all (`{ hidden: true }`). Calls over stdio need no scopes.
   */
  scopes(...scopes: ScopeList): McpPromptBuilder<A, E>;
  /** Finishes the prompt with the function that returns its messages. */
  execute(
    body: (args: A, ctx: McpToolContextFor<E>) => Operation<PromptReturn>,
  ): FinalizedMcpPrompt;
}

interface RawPrompt {
  readonly name: string;
  readonly description?: string;
  readonly title?: string;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  readonly parameters?: SchemaInput;
  readonly elicits?: ElicitsMap;
  readonly requires?: McpToolRequirements;
  readonly limits?: McpToolLimits;
  readonly scopes?: ScopeList;
  readonly completers?: { readonly [argument: string]: Completer };
}

/**
 * Starts the definition of a prompt: a text that people choose by name. It can ask the person
 * questions. The name must be unique on its server.
 *
 * @example
 * ```ts
 * import { createMcpPrompt } from "parley-mcp";
 * import { z } from "zod";
 *
 * export const explain = createMcpPrompt("explain")
 *   .description("Explains a word to a child.")
 *   .arguments(z.object({ word: z.string() }))
 *   .execute(function* ({ word }) {
 *     return `Explain the word "${word}" to a child of eight.`;
 *   });
 * ```
 */
// deno-lint-ignore ban-types
export function createMcpPrompt(name: string): McpPromptBuilder<Record<string, never>, {}> {
  // deno-lint-ignore ban-types
  return builder({ name }) as unknown as McpPromptBuilder<Record<string, never>, {}>;
}

function builder(raw: RawPrompt) {
  return {
    description: (description: string) => builder({ ...raw, description }),
    title: (title: string) => builder({ ...raw, title }),
    icons: (icons: readonly Icon[]) => builder({ ...raw, icons }),
    meta: (meta: JsonObject) => builder({ ...raw, meta }),
    arguments: (parameters: SchemaInput) => builder({ ...raw, parameters }),
    completes: (completers: { readonly [argument: string]: Completer }) =>
      builder({ ...raw, completers }),
    elicits: (elicits: ElicitsMap) => builder({ ...raw, elicits }),
    requires: (requires: McpToolRequirements) => builder({ ...raw, requires }),
    limits: (limits: McpToolLimits) => builder({ ...raw, limits }),
    scopes: (...scopes: ScopeList) => builder({ ...raw, scopes }),
    execute(execute: (args: unknown, ctx: unknown) => Operation<unknown>): FinalizedMcpPrompt {
      const subject = `prompt "${raw.name}"`;
      const core = checkedCore("prompt", raw, { type: "execute", execute });
      const list = argumentsOf(core.parameters.json);
      return {
        ...core,
        description: refuseUndescribed(subject, raw.description),
        ...(raw.title !== undefined && { title: raw.title }),
        ...(raw.icons && { icons: raw.icons }),
        ...(raw.meta && { meta: checkedMeta(subject, raw.meta) }),
        arguments: list,
        completers: checkedCompleters(subject, raw.completers, list.map(({ name }) => name)),
      };
    },
  };
}

function argumentsOf({ properties = {}, required = [] }: JsonObject): PromptArgument[] {
  return Object.entries(properties as { [name: string]: JsonObject }).map(([name, schema]) => ({
    name,
    ...(typeof schema.title === "string" && { title: schema.title }),
    ...(typeof schema.description === "string" && { description: schema.description }),
    required: (required as string[]).includes(name),
  }));
}
