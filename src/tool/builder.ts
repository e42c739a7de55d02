/**
 * `createMcpTool`: the builder of tools.
 *
 * Every method returns a new builder, so a partly built tool can be shared. Mistakes in a
 * definition throw when the tool is built, not when it is called.
 */
import type { Operation } from "effection";
import type { Icon } from "../model/content.ts";
import type { Infer, InferInput, SchemaInput } from "../schema/types.ts";
import { checkedDefinition, type RawDefinition } from "./check.ts";
import type { ElicitForm } from "./elicit-types.ts";
import type {
  McpToolDurability,
  McpToolLimits,
  McpToolRequirements,
  McpToolTask,
  ToolAnnotations,
} from "./settings.ts";
import type {
  ElicitsMap,
  FinalizedMcpTool,
  FinalizedMcpToolWithElicits,
  McpToolContext,
  McpToolContextWithElicits,
  McpToolHandoffConfig,
  OutputReturn,
  ToolBody,
  ToolReturn,
} from "./types.ts";

/** The compile-time state of a tool builder. */
export interface Draft {
  name: string;
  /** The parameters as the body gets them, and as a caller passes them. */
  params: unknown;
  input: unknown;
  /** The structured result, after and before its schema is applied. */
  output: unknown;
  returns: unknown;
  elicits: ElicitsMap;
  /** The methods that have been called. */
  set: string;
}

interface FreshDraft<TName extends string> {
  name: TName;
  params: Record<string, never>;
  input: Record<string, never>;
  output: unknown;
  returns: ToolReturn;
  // deno-lint-ignore ban-types
  elicits: {};
  set: never;
}

/** The state after method `M` was called. `Added` holds the types that the call added. */
type After<D extends Draft, M extends string, Added = unknown> =
  & Omit<D, keyof Added | "set">
  & Added
  & { set: D["set"] | M };

/** `Value`, or an error message as a type if the method was called before. */
type Once<D extends Draft, M extends string, Value> = M extends D["set"] ? `${M}() is already set`
  : Value;

/** `Value`, or an error message as a type if the description is missing. */
type Described<D extends Draft, Value> = "description" extends D["set"] ? Value
  : "description() is missing: the model chooses tools by it";

type Context<D extends Draft> = keyof D["elicits"] extends never ? McpToolContext
  : McpToolContextWithElicits<D["elicits"]>;

type Finalized<D extends Draft> = keyof D["elicits"] extends never
  ? FinalizedMcpTool<D["name"], D["input"], D["output"]>
  : FinalizedMcpToolWithElicits<D["name"], D["input"], D["output"], D["elicits"]>;

/** A tool that is being built. Each method gives a new builder, so that half a tool can be shared. */
export interface McpToolBuilder<D extends Draft> {
  /** What the tool does. The model chooses tools by it. */
  description(
    text: Once<D, "description", string>,
  ): McpToolBuilder<After<D, "description">>;
  /** A name for people. */
  title(text: string): McpToolBuilder<D>;
  /** Hints about what the tool does. */
  annotations(hints: ToolAnnotations): McpToolBuilder<D>;
  icons(icons: readonly Icon[]): McpToolBuilder<D>;
  /** What the tool is called with: an object schema. */
  parameters<S extends SchemaInput>(
    schema: Once<D, "parameters", S>,
  ): McpToolBuilder<After<D, "parameters", { params: Infer<S>; input: InferInput<S> }>>;
  /** What the tool returns, as data: an object schema. */
  output<S extends SchemaInput>(
    schema: Once<D, "output", S>,
  ): McpToolBuilder<
    After<D, "output", {
      output: Infer<S>;
      returns: OutputReturn<InferInput<S>>;
    }>
  >;
  /** The questions that the tool may put to the person. */
  elicits<E extends ElicitsMap>(
    questions: Once<D, "elicits", E>,
  ): McpToolBuilder<After<D, "elicits", { elicits: E }>>;
  /** Refuse the call before it runs where the client cannot do this. */
  requires(requirements: McpToolRequirements): McpToolBuilder<D>;
  limits(limits: McpToolLimits): McpToolBuilder<D>;
  /**
   * The tool can be taken up again from its record, after a restart or when its
   * client comes back: it is run from the top, and what it asked and did before
   * comes from the record. Effects belong into `ctx.step`, `before` and `after`.
   */
  durable(options?: { readonly version?: string; readonly sealed?: boolean }): McpToolBuilder<D>;
  /** The tool takes long: clients that know tasks get a task, and come back for its result. */
  task(task?: McpToolTask): McpToolBuilder<D>;
  /** The tool in one piece. */
  execute(
    body: Described<D, (params: D["params"], ctx: Context<D>) => Operation<D["returns"]>>,
  ): Finalized<D>;
  /** The tool in three parts: `before` and `after` run once each, `client` talks. */
  handoff<THandoff, TClient>(
    phases: Described<
      D,
      McpToolHandoffConfig<D["params"], THandoff, TClient, D["returns"], Context<D>>
    >,
  ): Finalized<D>;
}

/**
 * Starts a tool. Its name must be unique on the server that serves it. Say what it
 * does, what it takes and what it may ask; `execute` or `handoff` finishes it.
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
): McpToolBuilder<FreshDraft<TName>> {
  return new Builder({ name }) as unknown as McpToolBuilder<FreshDraft<TName>>;
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
  parameters = (parameters: SchemaInput) => this.#with({ parameters });
  output = (output: SchemaInput) => this.#with({ output });
  elicits = (elicits: ElicitsMap) => this.#with({ elicits });
  requires = (requires: McpToolRequirements) => this.#with({ requires });
  limits = (limits: McpToolLimits) => this.#with({ limits });
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
