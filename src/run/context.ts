/**
 * The contexts that the body of a tool gets as `ctx`: one for the tool, and one for each branch.
 *
 * Contexts are classes rather than objects of closures, because every parked call keeps one in
 * memory.
 */
import type { Buffer } from "node:buffer";
import { all, type Operation, race, resource } from "effection";
import { type Asker, checkLimit, type Question, type Reply } from "../ask/ask.ts";
import { sampledBy } from "../ask/attempt.ts";
import { elicit, elicitUrl } from "../ask/elicit.ts";
import { listRoots } from "../ask/roots.ts";
import { sample, sampleSchema, sampleTools } from "../ask/sample.ts";
import type { JsonObject, McpMessage } from "../model/content.ts";
import { McpToolTimeoutError } from "../model/errors.ts";
import type {
  ClientInfo,
  Door,
  LogLevel,
  Place,
  Root,
  SampleVia,
  TraceContext,
} from "../model/events.ts";
import { namedPrincipal, type Principal } from "../model/principal.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type {
  ElicitForm,
  ElicitOptions,
  ElicitResult,
  ElicitTimeout,
  ElicitUrlConfig,
  ElicitUrlResult,
  NarrowedElicitOptions,
} from "../tool/elicit-types.ts";
import type {
  McpToolSampleConfig,
  SampleAnswerer,
  SampleSchemaConfig,
  SampleToolsConfig,
} from "../tool/sample-types.ts";
import type { McpToolBranchOptions } from "../tool/settings.ts";
import type { Page, PageOptions, ServerSite } from "../tool/site.ts";
import type {
  Definition,
  ElicitsMap,
  McpToolContextWithElicits,
  McpToolServerContext,
} from "../tool/types.ts";
import { type Branch, rootBranch } from "./branch.ts";
import { isLight, runParallel } from "./run-parallel.ts";
import type { RunPort } from "./run-port.ts";

/** The context of `before` and `after`, which cannot ask questions. */
export class ServerContext implements McpToolServerContext {
  constructor(
    protected readonly host: RunPort,
    protected readonly branchState: Branch,
  ) {}

  get sessionId(): string {
    return this.host.id;
  }

  get client(): ClientInfo {
    return this.host.client;
  }

  get canSample(): boolean {
    return this.sampledBy !== undefined;
  }

  get sampledBy(): SampleVia | undefined {
    const { client, sampling: { provider, answerer = "auto" } } = this.host;
    return sampledBy({ client, provider, answerer, byCaller: this.byCaller });
  }

  /**
   * True if the model that called the tool may answer. The call then ends with a deferral, which
   * the definition must allow.
   */
  get byCaller(): boolean {
    const { sampling, tool: { kind, elicits, requires } } = this.host;
    return sampling.byCaller === true && kind !== "resource" &&
      (elicits.size > 0 || Boolean(requires.sampling));
  }

  get trace(): TraceContext {
    return this.host.trace;
  }

  get principal(): Principal {
    return this.host.caller ?? namedPrincipal(this.host.principal);
  }

  get server(): ServerSite {
    return this.host.site;
  }

  usePage(options: PageOptions): Operation<Page> {
    return operation(() => this.#usePage(options));
  }

  *#usePage(options: PageOptions): Operation<Page> {
    const { site, principal, facts, tool } = this.host;
    // Record the name of the page, so that its URL stays the same after a replay.
    const isRecorded = options.path === undefined && !facts.isInside;
    const name = isRecorded ? yield* this.fresh("page") : crypto.randomUUID();
    return yield* resource<Page>(function* (provide) {
      const page = yield* site.open({ ...options, owner: () => tool }, principal, name);
      try {
        yield* provide(page);
      } finally {
        if (!options.stays) page.close();
      }
    });
  }

  log(level: LogLevel, data: unknown, logger?: string): Operation<void> {
    return this.#emitWithRoom(() =>
      this.host.emit({
        type: "log",
        level,
        data: snapshot(data),
        ...(logger !== undefined && { logger }),
        ...(this.branchState.path && { branch: this.branchState.path }),
      })
    );
  }

  notify(message: string, progress?: number, total?: number): Operation<void> {
    return this.#emitWithRoom(() =>
      this.host.notify(message, progress, total, this.branchState.path)
    );
  }

  /** Waits until the log has room, which is nearly always immediately, and emits an event. */
  #emitWithRoom(emit: () => void): Operation<void> {
    return {
      [Symbol.iterator]: () => {
        const room = this.host.room();
        if (room) return this.#emitLater(room, emit)[Symbol.iterator]();
        emit();
        return DONE;
      },
    };
  }

  *#emitLater(first: Operation<void>, emit: () => void): Operation<void> {
    for (let room: typeof first | undefined = first; room; room = this.host.room()) yield* room;
    emit();
  }

  step<T>(name: string, body: (key: string) => Operation<T>): Operation<T> {
    return operation(() => this.host.facts.step(this.branchState.place("step", name), body));
  }

  now(): Operation<number> {
    return this.#value("now", () => this.host.deadlines.now());
  }

  random(): Operation<number> {
    return this.#value("random", (drawn) => drawn ? fractionOf(drawn) : Math.random());
  }

  uuid(): Operation<string> {
    return this.fresh("uuid");
  }

  fresh(what: string): Operation<string> {
    return this.#value(what, (drawn) => drawn ? uuidOf(drawn) : crypto.randomUUID());
  }

  sleep(ms: number): Operation<void> {
    return operation(() => {
      checkLimit("a sleep", ms);
      return this.host.facts.sleep(this.branchState.place("sleep", "sleep"), ms);
    });
  }

  #value<T>(key: string, make: (drawn?: Buffer) => T): Operation<T> {
    return operation(() => this.host.facts.value(this.branchState.place("value", key), make));
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

interface Reserved<C> {
  readonly ctx: C;
  readonly late: Place | undefined;
}

/** The context of `execute` and `client`. */
export class ToolContext extends ServerContext
  implements McpToolContextWithElicits<ElicitsMap>, Asker {
  readonly #tool: Definition;

  constructor(host: RunPort, tool: Definition, branch: Branch = rootBranch(tool)) {
    super(host, branch);
    this.#tool = tool;
  }

  get messages(): readonly McpMessage[] {
    return this.branchState.messages;
  }

  get parentMessages(): readonly McpMessage[] {
    return this.branchState.parentMessages;
  }

  get depth(): number {
    return this.branchState.depth;
  }

  elicit(
    key: string,
    ask: { message: string } & JsonObject,
    options?: Partial<NarrowedElicitOptions>,
    // deno-lint-ignore no-explicit-any
  ): Operation<any> {
    return operation<ElicitResult<unknown, unknown> | ElicitTimeout>(() =>
      elicit(this, this.#form(key), ask, options)
    );
  }

  #form(key: string): ElicitForm {
    const form = this.#tool.elicits.get(key);
    if (form) return form;
    const known = [...this.#tool.elicits.keys()];
    throw new TypeError(
      `Cannot elicit "${key}": ${this.#tool.kind} "${this.#tool.name}" declares ${
        known.length > 0 ? `only ${known.join(", ")}` : "no questions"
      }; add it to .elicits()`,
    );
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
    return operation(() => sample(this, this.branchState, config));
  }

  // deno-lint-ignore no-explicit-any
  sampleSchema(config: SampleSchemaConfig): Operation<any> {
    return operation(() => sampleSchema(this, this.branchState, config));
  }

  // deno-lint-ignore no-explicit-any
  sampleTools(config: SampleToolsConfig): Operation<any> {
    return operation(() => sampleTools(this, this.branchState, config));
  }

  branch<T>(
    body: (ctx: this) => Operation<T>,
    options: McpToolBranchOptions = {},
  ): Operation<T> {
    return operation(() => this.#open(body, options));
  }

  branches(
    bodies: readonly ((ctx: this) => Operation<unknown>)[],
    options: McpToolBranchOptions = {},
    // deno-lint-ignore no-explicit-any
  ): Operation<any> {
    return operation(() => this.#openAll(bodies, options));
  }

  *#openAll(
    bodies: readonly ((ctx: this) => Operation<unknown>)[],
    options: McpToolBranchOptions,
  ): Operation<unknown[]> {
    // Reserve the places of all branches before any of them runs. Otherwise their order would
    // depend on whether the tool runs as a task, which may differ in a replay.
    const parts = bodies.map((body) => this.#open(body, options, this.#reserve(options)));
    if (yield* isLight) return yield* runParallel(this.host, parts);
    return yield* all(parts);
  }

  *#open<T>(
    body: (ctx: this) => Operation<T>,
    options: McpToolBranchOptions,
    reserved?: Reserved<this>,
  ): Operation<T> {
    const { ctx, late } = reserved ?? this.#reserve(options);
    const { timeout } = options;
    if (timeout === undefined) return yield* body(ctx);
    const inTime = operation(function* () {
      return { value: yield* body(ctx) };
    });
    const outcome = yield* race([inTime, this.host.facts.sleep(late!, timeout)]);
    if (!outcome) throw new McpToolTimeoutError(`branch ${ctx.branchState.path}`, timeout);
    return outcome.value;
  }

  /** Creates the context of a branch, and reserves a place for its timeout if it has one. */
  #reserve(options: McpToolBranchOptions): Reserved<this> {
    const branch = this.branchState.open(options);
    const ctx = new ToolContext(this.host, this.#tool, branch) as this;
    const late = options.timeout === undefined
      ? undefined
      : this.branchState.place("sleep", "timeout");
    return { ctx, late };
  }

  // The implementation of `Asker`, for elicitation and sampling.

  get provider(): SamplingProvider | undefined {
    return this.host.sampling.provider;
  }

  get answerer(): SampleAnswerer {
    return this.host.sampling.answerer ?? "auto";
  }

  get schemas(): SchemaReader {
    return this.#tool.schemas;
  }

  /**
   * Returns the door for a question. A replayed question keeps its door, even if the settings of
   * the server have changed.
   */
  nextDoor(form: ElicitForm, tried: readonly Door[], refused: boolean): Door | undefined {
    const recorded = this.host.recordedDoor(this.branchState.path, form.key, tried.length > 0);
    if (recorded) return recorded;
    // The record continues with another step, because no door was left in the first run.
    if (recorded === null && tried.length > 0) return undefined;
    return this.host.site.doors.choose(this.host, form, tried, refused);
  }

  newId(kind: string): string {
    const { path } = this.branchState;
    return `${kind}${path.replaceAll("/", "_")}_${this.branchState.count("id", kind)}`;
  }

  report(what: string, error: unknown): void {
    const { id: sessionId } = this.host;
    this.host.report({ what, toolName: this.#tool.name, sessionId, error });
  }

  time(): number {
    return this.host.deadlines.now();
  }

  once<T>(name: string, run: () => Operation<T>): Operation<T> {
    return this.host.facts.step(this.branchState.place("step", name), run);
  }

  askedNext(key: string, start: string): boolean {
    return this.host.facts.askedNext(this.branchState.path, key, start);
  }

  ask(question: Question, timeout?: number): Operation<Reply> {
    const place = this.branchState.place(question.kind, question.key);
    return this.host.ask({ ...question, place }, timeout);
  }
}

/** Returns a number in [0, 1) made of 53 random bits. */
function fractionOf(drawn: Buffer): number {
  return ((drawn.readUInt32BE(0) >>> 5) * 2 ** 26 + (drawn.readUInt32BE(4) >>> 6)) / 2 ** 53;
}

/** Returns a version 4 UUID made of random bytes. */
function uuidOf(drawn: Buffer): string {
  const bytes = drawn.subarray(0, 16);
  bytes[6] = bytes[6]! & 0x0f | 0x40;
  bytes[8] = bytes[8]! & 0x3f | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Returns an operation that can be evaluated more than once, unlike a generator object. */
function operation<T>(body: () => Operation<T>): Operation<T> {
  return { [Symbol.iterator]: () => body()[Symbol.iterator]() };
}

/**
 * Copies a value as JSON, because the tool may modify its objects later. If the value cannot be
 * serialised, returns an error message instead of throwing.
 */
function snapshot(data: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(data, readable) ?? "null");
  } catch (error) {
    return `Cannot show this value: ${(error as Error).message}`;
  }
}

/** Replaces values that JSON would drop or reject, such as errors. */
function readable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message };
  return typeof value === "bigint" ? String(value) : value;
}

/** Returns an operation that only calls a function. */
function doing(act: () => void): Operation<void> {
  return operation(function* () {
    act();
  });
}

/** The iterator of an operation that has nothing left to do. */
const DONE: Iterator<never, void> = {
  next: () => ({ done: true, value: undefined }),
  return: () => ({ done: true, value: undefined }),
  throw(error) {
    throw error;
  },
};
