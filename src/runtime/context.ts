/**
 * What a tool is given: one context for the tool, and one for each branch.
 *
 * It is a class with methods on its prototype rather than a record of closures,
 * because every parked call keeps one alive.
 */
import { type Operation, race } from "effection";
import type { Asker, Question, Reply } from "../backchannel/ask.ts";
import { TokenBudget } from "../backchannel/budget.ts";
import { elicit, elicitUrl } from "../backchannel/elicit.ts";
import { checkLimit } from "../backchannel/limit.ts";
import { listRoots } from "../backchannel/roots.ts";
import { type Conversation, sample, sampleSchema, sampleTools } from "../backchannel/sample.ts";
import type {
  ElicitOptions,
  ElicitResult,
  ElicitTimeout,
  ElicitUrlConfig,
  ElicitUrlResult,
  NarrowedElicitOptions,
} from "../backchannel/elicit-types.ts";
import type {
  McpToolSampleConfig,
  SampleAnswerer,
  SampleSchemaConfig,
  SampleToolsConfig,
} from "../backchannel/sample-types.ts";
import { type JsonObject, type McpMessage, normalizeMessage } from "../content.ts";
import { McpToolDepthError, McpToolTimeoutError } from "../errors.ts";
import type { ClientInfo, LogLevel, Place, Root, TraceContext } from "../events.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type {
  Definition,
  ElicitsMap,
  McpToolBranchOptions,
  McpToolContextWithElicits,
  McpToolServerContext,
} from "../tool/types.ts";
import { deadline } from "./deadline-operation.ts";
import type { RunHost } from "./run-host.ts";

const DEFAULT_MAX_DEPTH = 10;

/** What `before` and `after` get: a context that cannot ask. */
export class ServerContext implements McpToolServerContext {
  constructor(protected readonly host: RunHost) {}

  get sessionId(): string {
    return this.host.id;
  }

  get client(): ClientInfo {
    return this.host.client;
  }

  get trace(): TraceContext {
    return this.host.trace;
  }

  log(level: LogLevel, data: unknown, logger?: string): Operation<void> {
    return doing(() =>
      this.host.emit({
        type: "log",
        level,
        data: snapshot(data),
        ...(logger !== undefined && { logger }),
      })
    );
  }

  notify(message: string, progress?: number, total?: number): Operation<void> {
    return doing(() => this.host.notify(message, progress, total));
  }

  hangUp(): Operation<void> {
    return doing(() => this.host.hangUp());
  }

  listChanged(list: "tools" | "prompts" | "resources"): Operation<void> {
    return doing(() => this.host.announce({ type: "list_changed", list }));
  }

  resourceUpdated(uri: string): Operation<void> {
    return doing(() => this.host.announce({ type: "resource_updated", uri }));
  }
}

/** Where a context stands among the branches of its tool. */
class Branch implements Conversation {
  #counts: Map<string, number> | undefined;

  constructor(
    readonly path: string,
    readonly depth: number,
    readonly maxDepth: number,
    readonly messages: McpMessage[],
    readonly parentMessages: readonly McpMessage[],
    readonly budget: TokenBudget,
  ) {}

  /** How many of this kind and key this branch has had. */
  count(kind: string, key: string): number {
    const name = `${kind}:${key}`;
    const count = this.#counts?.get(name) ?? 0;
    (this.#counts ??= new Map()).set(name, count + 1);
    return count;
  }

  place(kind: Place["kind"], key: string): Place {
    return { branch: this.path, kind, key, count: this.count(kind, key) };
  }

  open(options: McpToolBranchOptions): Branch {
    const depth = this.depth + 1;
    checkLimit("a branch's maxDepth", options.maxDepth);
    checkLimit("a branch's maxTokens", options.maxTokens);
    checkLimit("a branch's timeout", options.timeout);
    if (depth > this.maxDepth) throw new McpToolDepthError(depth, this.maxDepth);
    return new Branch(
      `${this.path}/${this.count("branch", "")}`,
      depth,
      Math.min(this.maxDepth, depth + (options.maxDepth ?? Infinity)),
      [
        ...(options.inheritMessages === false ? [] : this.messages),
        ...(options.messages ?? []).map(normalizeMessage),
      ],
      this.messages.slice(),
      new TokenBudget(options.maxTokens, this.budget),
    );
  }
}

/** What `execute` and `client` get. */
export class ToolContext extends ServerContext
  implements McpToolContextWithElicits<ElicitsMap>, Asker {
  readonly #tool: Definition;
  readonly #branch: Branch;

  constructor(host: RunHost, tool: Definition, branch: Branch = rootBranch(tool)) {
    super(host);
    this.#tool = tool;
    this.#branch = branch;
  }

  get messages(): readonly McpMessage[] {
    return this.#branch.messages;
  }

  get parentMessages(): readonly McpMessage[] {
    return this.#branch.parentMessages;
  }

  get depth(): number {
    return this.#branch.depth;
  }

  elicit(
    key: string,
    ask: { message: string } & JsonObject,
    options?: Partial<NarrowedElicitOptions>,
    // deno-lint-ignore no-explicit-any
  ): Operation<any> {
    return operation(() => this.#elicit(key, ask, options));
  }

  *#elicit(
    key: string,
    ask: { message: string } & JsonObject,
    options?: Partial<NarrowedElicitOptions>,
  ): Operation<ElicitResult<unknown, unknown> | ElicitTimeout> {
    const form = this.#tool.elicits.get(key);
    if (!form) {
      const known = [...this.#tool.elicits.keys()];
      throw new TypeError(
        `Cannot elicit "${key}": ${this.#tool.kind} "${this.#tool.name}" declares ${
          known.length > 0 ? `only ${known.join(", ")}` : "no questions"
        }; add it to .elicits()`,
      );
    }
    return yield* elicit(this, form, ask, options);
  }

  // deno-lint-ignore no-explicit-any
  elicitUrl(config: ElicitUrlConfig, options?: ElicitOptions): Operation<any> {
    return operation<ElicitUrlResult | ElicitTimeout>(() => this.#elicitUrl(config, options));
  }

  *#elicitUrl(config: ElicitUrlConfig, options?: ElicitOptions) {
    const result = yield* elicitUrl(this, config, options);
    const { elicitationId } = result;
    return {
      ...result,
      complete: () => doing(() => this.host.emit({ type: "elicit_complete", elicitationId })),
    };
  }

  startTask(): Operation<void> {
    return doing(() => this.host.emit({ type: "task_started" }));
  }

  roots(): Operation<readonly Root[]> {
    return operation(() => listRoots(this));
  }

  // deno-lint-ignore no-explicit-any
  sample(config: McpToolSampleConfig): Operation<any> {
    return operation(() => sample(this, this.#branch, config));
  }

  // deno-lint-ignore no-explicit-any
  sampleSchema(config: SampleSchemaConfig): Operation<any> {
    return operation(() => sampleSchema(this, this.#branch, config));
  }

  // deno-lint-ignore no-explicit-any
  sampleTools(config: SampleToolsConfig): Operation<any> {
    return operation(() => sampleTools(this, this.#branch, config));
  }

  branch<T>(
    body: (ctx: this) => Operation<T>,
    options: McpToolBranchOptions = {},
  ): Operation<T> {
    return operation(() => this.#open(body, options));
  }

  *#open<T>(body: (ctx: this) => Operation<T>, options: McpToolBranchOptions): Operation<T> {
    const branch = this.#branch.open(options);
    const ctx = new ToolContext(this.host, this.#tool, branch) as this;
    const { timeout } = options;
    if (timeout === undefined) return yield* body(ctx);
    const inTime = operation(function* () {
      return { value: yield* body(ctx) };
    });
    const outcome = yield* race([inTime, deadline(this.host.deadlines, timeout)]);
    if (!outcome) throw new McpToolTimeoutError(`branch ${branch.path}`, timeout);
    return outcome.value;
  }

  // The two below make the context the one that `elicit` and `sample` ask.

  get provider(): SamplingProvider | undefined {
    return this.host.sampling.provider;
  }

  get answerer(): SampleAnswerer {
    return this.host.sampling.answerer ?? "auto";
  }

  newId(kind: string): string {
    const { path } = this.#branch;
    return `${kind}${path.replaceAll("/", "_")}_${this.#branch.count("id", kind)}`;
  }

  now(): number {
    return this.host.deadlines.now();
  }

  ask(question: Question, timeout?: number): Operation<Reply> {
    const place = this.#branch.place(question.kind, question.key);
    return this.host.ask({ ...question, place }, timeout);
  }
}

function rootBranch({ limits }: Definition): Branch {
  const budget = new TokenBudget(limits.maxTokens);
  return new Branch("", 0, limits.maxDepth ?? DEFAULT_MAX_DEPTH, [], [], budget);
}

/** An operation that can be evaluated more than once, unlike a generator object. */
function operation<T>(body: () => Operation<T>): Operation<T> {
  return { [Symbol.iterator]: () => body()[Symbol.iterator]() };
}

/**
 * The value as JSON keeps it. The log must not change when the tool's own objects
 * do, and telling something must never be what breaks a tool.
 */
function snapshot(data: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(data, readable) ?? "null");
  } catch (error) {
    return `Cannot show this: ${(error as Error).message}`;
  }
}

/** Says what JSON would drop or refuse. */
function readable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message };
  return typeof value === "bigint" ? String(value) : value;
}

/** An operation that does one thing, and never waits. */
function doing(act: () => void): Operation<void> {
  return operation(function* () {
    act();
  });
}
