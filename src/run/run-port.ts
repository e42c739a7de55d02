/** The interface between a run and its session: everything that the run of a tool needs. */
import type { Buffer } from "node:buffer";
import type { Operation, Scope } from "effection";
import type { SampleAnswerer } from "../tool/sample-types.ts";
import type { PlacedQuestion, Reply } from "../ask/ask.ts";
import type {
  CallResult,
  ClientAnswer,
  ClientInfo,
  Door,
  ElicitRequest,
  EventBody,
  Place,
  RpcError,
  ServerChange,
  TraceContext,
} from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { ElicitForm } from "../tool/elicit-types.ts";
import type { Page, PageOptions, ServerSite } from "../tool/site.ts";
import type { Definition } from "../tool/types.ts";
import type { Deadlines } from "../lib/deadlines.ts";

/** An error that is reported to the operator only. */
export interface Fault {
  /** What went wrong, as a short sentence. */
  readonly what: string;
  /** The name of the tool, prompt or resource; `-` if none is involved. */
  readonly toolName: string;
  /** The id of the session; `-` if none is involved. */
  readonly sessionId: string;
  /** The error itself. */
  readonly error: unknown;
}

/** The server's own language model, and when it is used. */
export interface SamplingSetup {
  /** The server's own model. Default: none. */
  readonly provider?: SamplingProvider;
  /**
   * Who answers sampling requests. `auto` prefers the client, unless asking it costs another round
   * trip. Default: `auto`.
   */
  readonly answerer?: SampleAnswerer;
  /**
   * Whether the model that called a tool may answer its sampling requests, if neither the client
   * nor the server has another model. It answers through `continue_call`. Default: false.
   */
  readonly byCaller?: boolean;
}

/** How a run ended. */
export type RunOutcome =
  | { readonly type: "result"; readonly result: CallResult }
  | { readonly type: "error"; readonly error: RpcError }
  | { readonly type: "halted" };

/** A page, and the tool, prompt or resource whose scopes its visitors need. */
export interface OwnedPage extends PageOptions {
  /** Returns the owner of the page. Undefined if the owner no longer exists. */
  owner?(): Definition | undefined | Promise<Definition | undefined>;
}

/** The functions of the server that tools can use, and the method that opens pages. */
export interface Site extends ServerSite {
  /**
   * Opens a page for a principal, until the page is closed or expires. If the page has no path, its
   * URL contains `name`.
   */
  open(page: OwnedPage, principal: string, name: string): Operation<Page>;
  readonly doors: DoorPort;
}

/** The properties of a call that decide at which door it can ask. */
export interface DoorCall {
  readonly client: ClientInfo;
  readonly principal: string;
  readonly tool: { readonly kind: "tool" | "prompt" | "resource" };
}

/** Chooses the door for each question. The server implements this. */
export interface DoorPort {
  /** Whether the model that called a tool may answer its sampling requests. */
  readonly modelByCaller?: boolean;
  /**
   * Returns the door for a question, or undefined if no door is left. `tried` lists the doors at
   * which nobody could answer. `refused` is true if the last door refused the question.
   */
  choose(
    call: DoorCall,
    form: ElicitForm,
    tried: readonly Door[],
    refused: boolean,
  ): Door | undefined;
  /**
   * Returns true if the client answered at the door `form` without showing the question to a
   * person.
   */
  isUnseen(
    call: DoorCall,
    request: ElicitRequest,
    response: ClientAnswer,
    elapsed: number,
  ): boolean;
  /** Returns true if a caller can sign in on a page. Default: no caller can. */
  canSignIn?(principal: string): boolean;
  /** Records how long a client took to answer a message without a person, in milliseconds. */
  observe?(caller: Pick<DoorCall, "client" | "principal">, ms: number): void;
}

/** A call, as middleware sees it. */
export interface MiddlewareCall {
  /** Whether a tool, a prompt or a resource is called. */
  readonly kind: Definition["kind"];
  /** The name of the tool, prompt or resource. */
  readonly name: string;
  /** The arguments of the call. */
  readonly arguments: unknown;
  /** The id of the session. */
  readonly sessionId: string;
  /** The caller, as it was when the call began. */
  readonly principal: Principal;
  /** The client that called. */
  readonly client: ClientInfo;
  /** True if the call resumes from its record. The middleware has run for it before. */
  readonly replayed: boolean;
}

/**
 * Runs around each call. Call `next` to run the tool, and return its value. Throw a `ToolError` to
 * refuse the call with a message for the model. A durable call runs its middleware again when it
 * resumes from its record.
 */
export type Middleware = (
  call: MiddlewareCall,
  next: () => Operation<unknown>,
) => Operation<unknown>;

export interface RunPort {
  readonly id: string;
  /** The principal on whose behalf the tool runs. */
  readonly principal: string;
  /** The caller as it was when the call began. Undefined if only its id is known. */
  readonly caller: Principal | undefined;
  /** The callbacks of the server. `around` runs around the body of the tool. */
  readonly hooks: { readonly around?: Middleware };
  /** True if the session resumes from its record. */
  readonly replayed: boolean;
  readonly site: Site;
  readonly client: ClientInfo;
  readonly trace: TraceContext;
  readonly deadlines: Deadlines;
  /** The server's own model, and when it answers sampling requests. */
  readonly sampling: SamplingSetup;
  /**
   * True from the moment at which the run is halted. Code that must not run after a halt checks
   * this flag: after a `yield*` inside `finally`, JavaScript continues a generator that was
   * returning.
   */
  readonly halting: boolean;
  /** Records an event. Does nothing while the run is being halted. */
  emit(body: EventBody): void;
  /**
   * Returns undefined if the log has room for the next event. If the reader is behind, returns an
   * operation that waits. Call this again after the wait.
   */
  room(): Operation<void> | undefined;
  /** Ends the client's request. The client reconnects for the result. */
  hangUp(): void;
  /** Notifies all clients of the server, not only this caller. */
  announce(change: ServerChange): void;
  /** Records progress. If `progress` is omitted, adds one to the last number. */
  notify(message: string, progress?: number, total?: number, branch?: string): void;
  /** Sends a question and waits for its answer. Throws while the run is being halted. */
  ask(question: PlacedQuestion, timeout?: number): Operation<Reply>;
  /** The tool, prompt or resource that runs. */
  readonly tool: Definition;
  /**
   * In a replay: the door of the next recorded question of a branch, or null if the record
   * continues with something else. Undefined if the record says nothing more about the branch.
   */
  recordedDoor(branch: string, key: string, moved: boolean): Door | null | undefined;
  /** The scope for work that needs a task. */
  readonly scope: Scope;
  /** Adds `parts` to the number of concurrent parts that run without a task of their own. */
  addParallel(parts: number): void;
  /** Runs operations and records their outcomes. */
  readonly facts: Facts;
  /** When the call started, in milliseconds since the epoch. */
  readonly createdAt: number;
  report(fault: Fault): void;
  /** Called when the run stops itself, because its timeout has passed. */
  runHalting(): void;
  /** Reports the outcome of the run. Called exactly once. */
  runEnded(outcome: RunOutcome): void;
}

/** Operations whose outcome is recorded. A replay uses the recorded outcome. */
export interface Facts {
  /**
   * True while the body of a step is on the stack. Operations inside a step are not recorded
   * separately.
   */
  readonly isInside: boolean;
  /**
   * In a replay, returns true if the next recorded step of the branch is an elicitation with this
   * key, and its message starts with `start`.
   */
  askedNext(branch: string, key: string, start: string): boolean;
  step<T>(place: Place, run: (key: string) => Operation<T>): Operation<T>;
  /**
   * Records the value that `make` returns. If `drawn` is present, `make` must derive the value from
   * these random bytes, which are the same in a replay.
   */
  value<T>(place: Place, make: (drawn?: Buffer) => T): Operation<T>;
  sleep(place: Place, ms: number): Operation<void>;
}
