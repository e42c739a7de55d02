/**
 * `createMcpTool`: the builder of tools.
 *
 * Every method returns a new builder, so a partly built tool can be shared. Mistakes in a
 * definition throw when the tool is built, not when it is called.
 */
import type { Operation } from "effection";
import type { Icon, JsonObject } from "../model/content.ts";
import type { Infer, InferInput, SchemaInput } from "../schema/types.ts";
import { checkedDefinition, type RawDefinition } from "./check.ts";
import type { ElicitForm } from "./elicit-types.ts";
import type {
  McpToolDurability,
  McpToolLimits,
  McpToolRequirements,
  McpToolTask,
  ScopeList,
  ToolAnnotations,
} from "./settings.ts";
import type {
  ElicitsMap,
  FinalizedMcpTool,
  FinalizedMcpToolWithElicits,
  McpToolContextFor,
  McpToolHandoffConfig,
  OutputReturn,
  ToolBody,
  ToolReturn,
} from "./types.ts";
import type { ToolVisibility, ViewInput } from "./view.ts";

/** The compile-time state of a tool builder. */
export interface McpToolDraft {
  name: string;
  /**
   * The type of the parameters as the body gets them (`params`) and as a caller passes them
   * (`input`).
   */
  params: unknown;
  input: unknown;
  /**
   * The type of the structured result after its schema is applied (`output`) and before
   * (`returns`).
   */
  output: unknown;
  returns: unknown;
  elicits: ElicitsMap;
  /** The names of the methods that have been called. */
  set: string;
}

/** The compile-time state of a new tool builder. */
export interface NewMcpToolDraft<TName extends string> {
  name: TName;
  params: Record<string, never>;
  input: Record<string, never>;
  output: unknown;
  returns: ToolReturn;
  // deno-lint-ignore ban-types
  elicits: {};
  set: never;
}

/**
 * The state of the builder after method `M` was called. `Added` holds the types that the call
 * added.
 */
export type McpToolDraftAfter<D extends McpToolDraft, M extends string, Added = unknown> =
  & Omit<D, keyof Added | "set">
  & Added
  & { set: D["set"] | M };

/** `Value`, or an error message as a type if method `M` was already called. */
export type McpToolOnce<D extends McpToolDraft, M extends string, Value> = M extends D["set"]
  ? `${M}() is already set`
  : Value;

/** `Value`, or an error message as a type if the description is missing. */
export type McpToolDescribed<D extends McpToolDraft, Value> = "description" extends D["set"] ? Value
  : "description() is missing: the model chooses tools by it";

/** The finished tool of a builder. */
export type McpToolFinalized<D extends McpToolDraft> = keyof D["elicits"] extends never
  ? FinalizedMcpTool<D["name"], D["input"], D["output"]>
  : FinalizedMcpToolWithElicits<D["name"], D["input"], D["output"], D["elicits"]>;

/** Builds a tool. Each method returns a new builder, so a partly built tool can be shared. */
export interface McpToolBuilder<D extends McpToolDraft> {
  /** Sets the description. The model uses it to choose a tool. */
  description(
    text: McpToolOnce<D, "description", string>,
  ): McpToolBuilder<McpToolDraftAfter<D, "description">>;
  /** Sets the name that people see. */
  title(text: string): McpToolBuilder<D>;
  /** Sets hints for clients about the behaviour of the tool. */
  annotations(hints: ToolAnnotations): McpToolBuilder<D>;
  icons(icons: readonly Icon[]): McpToolBuilder<D>;
  /** Sets `_meta` in lists, for clients that know its keys, such as `com.example/team`. */
  meta(fields: JsonObject): McpToolBuilder<D>;
  /** Sets the schema of the arguments. It must be an object schema. */
  parameters<S extends SchemaInput>(
    schema: McpToolOnce<D, "parameters", S>,
  ): McpToolBuilder<McpToolDraftAfter<D, "parameters", { params: Infer<S>; input: InferInput<S> }>>;
  /** Sets the schema of the structured result. It must be an object schema. */
  output<S extends SchemaInput>(
    schema: McpToolOnce<D, "output", S>,
  ): McpToolBuilder<
    McpToolDraftAfter<D, "output", {
      output: Infer<S>;
      returns: OutputReturn<InferInput<S>>;
    }>
  >;
  /** Declares the questions that the tool may ask the person. */
  elicits<E extends ElicitsMap>(
    questions: McpToolOnce<D, "elicits", E>,
  ): McpToolBuilder<McpToolDraftAfter<D, "elicits", { elicits: E }>>;
  /**
   * Sets the capabilities that a client needs. Calls from other clients fail before the tool runs.
   */
  requires(requirements: McpToolRequirements): McpToolBuilder<D>;
  limits(limits: McpToolLimits): McpToolBuilder<D>;
  /**
   * Sets the scopes that a caller needs. Over HTTP, other callers are refused with status 403, or
   * do not see the tool at all (`{ hidden: true }`). Calls over stdio need no scopes.
   */
  scopes(...scopes: ScopeList): McpToolBuilder<D>;
  /**
   * Makes the tool durable: a call can resume from its record, after a restart or with a later
   * request of its client. The tool then runs again from the start, and gets earlier answers and
   * results from the record. Put effects into `ctx.step`, `before` or `after`.
   */
  durable(options?: { readonly version?: string; readonly sealed?: boolean }): McpToolBuilder<D>;
  /** Lets the tool run as a task. Clients that support tasks get a task, and poll for its result. */
  task(task?: McpToolTask): McpToolBuilder<D>;
  /**
   * Sets the view that hosts with MCP Apps show for calls of the tool: an HTML document, with
   * options or without, or a module that is loaded on first use and exports one as `default`.
   */
  view(view: ViewInput): McpToolBuilder<D>;
  /** Sets who may call the tool. Default: the model and the views of this server. */
  visibility(...who: readonly ToolVisibility[]): McpToolBuilder<D>;
  /** Finishes the tool with a single function. */
  execute(
    body: McpToolDescribed<
      D,
      (params: D["params"], ctx: McpToolContextFor<D["elicits"]>) => Operation<D["returns"]>
    >,
  ): McpToolFinalized<D>;
  /** Finishes the tool with three phases: `before`, `client` (which asks questions) and `after`. */
  handoff<THandoff, TClient>(
    phases: McpToolDescribed<
      D,
      McpToolHandoffConfig<
        D["params"],
        THandoff,
        TClient,
        D["returns"],
        McpToolContextFor<D["elicits"]>
      >
    >,
  ): McpToolFinalized<D>;
}

/**
 * Starts the definition of a tool. The name must be unique on its server. Set the description, the
 * parameters and the questions, and finish with `execute` or `handoff`.
 *
 * @example
 * ```ts
 * import { createMcpTool } from "parley-mcp";
 * import { z } from "zod";
 *
 * export const rename = createMcpTool("rename")
 *   .description("Renames something, after asking.")
 *   .parameters(z.object({ from: z.string(), to: z.string() }))
 *   .elicits({ sure: { response: z.object({ yes: z.boolean() }) } })
 *   .execute(function* ({ from, to }, ctx) {
 *     const answer = yield* ctx.elicit("sure", { message: `Rename ${from} to ${to}?` });
 *     return answer.action === "accept" && answer.content.yes ? "Renamed." : "Left as it was.";
 *   });
 * ```
 */
export function createMcpTool<TName extends string>(
  name: TName,
): McpToolBuilder<NewMcpToolDraft<TName>> {
  return new Builder({ name }) as unknown as McpToolBuilder<NewMcpToolDraft<TName>>;
}

class Builder {
  constructor(readonly raw: RawDefinition) {}

  #with(part: Partial<RawDefinition>): Builder {
    return new Builder({ ...this.raw, ...part });
  }

  description = (description: string) => this.#with({ description });
  title = (title: string) => this.#with({ title });
  annotations = (annotations: ToolAnnotations) => this.#with({ annotations });
  icons = (icons: readonly Icon[]) => this.#with({ icons });
  meta = (meta: JsonObject) => this.#with({ meta });
  parameters = (parameters: SchemaInput) => this.#with({ parameters });
  output = (output: SchemaInput) => this.#with({ output });
  elicits = (elicits: ElicitsMap) => this.#with({ elicits });
  requires = (requires: McpToolRequirements) => this.#with({ requires });
  limits = (limits: McpToolLimits) => this.#with({ limits });
  scopes = (...scopes: ScopeList) => this.#with({ scopes });
  view = (view: ViewInput) => this.#with({ view });
  visibility = (...visibility: readonly ToolVisibility[]) => this.#with({ visibility });
  task = (task: McpToolTask = {}) => this.#with({ task });
  durable = ({ version = "1", sealed = false }: Partial<McpToolDurability> = {}) =>
    this.#with({ durable: { version, sealed } });

  execute = (execute: (params: unknown, ctx: unknown) => Operation<unknown>) =>
    this.#finish({ type: "execute", execute });

  handoff = (
    phases: McpToolHandoffConfig<unknown, unknown, unknown, unknown, unknown>,
  ) => this.#finish({ type: "handoff", phases });

  #finish(body: ToolBody): FinalizedMcpTool {
    return checkedDefinition(this.raw, body);
  }
}

export type { ElicitForm };
