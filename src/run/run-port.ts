/** What running a tool needs from its session. */
import type { Buffer } from "node:buffer";
import type { Operation, Scope } from "effection";
import type { SampleAnswerer } from "../tool/sample-types.ts";
import type { PlacedQuestion, Reply } from "../ask/ask.ts";
import type {
  CallResult,
  ClientInfo,
  EventBody,
  Place,
  RpcError,
  ServerChange,
  TraceContext,
} from "../model/events.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { Page, PageOptions, ServerSite } from "../tool/site.ts";
import type { Deadlines } from "../lib/deadlines.ts";

/** An error that is reported to the operator only. */
export interface Fault {
  /** What went wrong. */
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
   * Who answers samples. `auto` prefers the client, unless asking it costs another round trip.
   * Default: `auto`.
   */
  readonly answerer?: SampleAnswerer;
}

/** How a run ended. */
export type RunOutcome =
  | { readonly type: "result"; readonly result: CallResult }
  | { readonly type: "error"; readonly error: RpcError }
  | { readonly type: "halted" };

/** The server, as a run sees it. */
export interface Site extends ServerSite {
  /**
   * Opens a page for a principal, until the page is closed or expires. A page without a path is
   * addressed by its name.
   */
  open(page: PageOptions, principal: string, name: string): Operation<Page>;
}

export interface RunPort {
  readonly id: string;
  /** The principal on whose behalf the tool runs. */
  readonly principal: string;
  readonly site: Site;
  readonly client: ClientInfo;
  readonly trace: TraceContext;
  readonly deadlines: Deadlines;
  /** Who answers samples besides the client. */
  readonly sampling: SamplingSetup;
  /**
   * True from the moment the run is told to stop. After a `yield*` inside `finally`, JavaScript
   * continues a generator that was returning, so code that must not run after a halt checks this
   * flag.
   */
  readonly halting: boolean;
  /** Records an event. Records nothing while the run is being halted. */
  emit(body: EventBody): void;
  /**
   * Returns an operation to wait for before the next event, if the reader is behind, or undefined
   * if there is room. Call it again after waiting.
   */
  room(): Operation<void> | undefined;
  /** Ends the client's request. The client reconnects for the result. */
  hangUp(): void;
  /** Notifies all clients of the server, not only this caller. */
  announce(change: ServerChange): void;
  /** Records progress. Counts up if `progress` is omitted. */
  notify(message: string, progress?: number, total?: number, branch?: string): void;
  /** Sends a question and waits for its answer. Throws while the run is being halted. */
  ask(question: PlacedQuestion, timeout?: number): Operation<Reply>;
  /** In a replay: whether the next recorded question of a branch is this one. */
  wasAsked(branch: string, kind: Place["kind"], key: string): boolean;
  /** The scope for work that needs a task. */
  readonly scope: Scope;
  /** Adds to the number of parts that run besides the first, while none of them is a task. */
  addParallel(parts: number): void;
  /** Runs operations once and records their outcomes. */
  readonly facts: Facts;
  /** When the call started, in milliseconds since the epoch. */
  readonly createdAt: number;
  report(fault: Fault): void;
  /** The run stops itself, because its time is over. */
  runHalting(): void;
  /** Reports the outcome of the run. Called exactly once. */
  runEnded(outcome: RunOutcome): void;
}

/** Operations whose outcome is recorded. A replay uses the recorded outcome. */
export interface Facts {
  /** Whether a step is running. Operations inside a step are not recorded separately. */
  readonly isInside: boolean;
  /** In a replay: whether this elicitation is the next recorded event of the branch. */
  askedNext(branch: string, key: string, start: string): boolean;
  step<T>(place: Place, run: (key: string) => Operation<T>): Operation<T>;
  /** `drawn` holds random bytes that are the same in a replay. Use them if present. */
  value<T>(place: Place, make: (drawn?: Buffer) => T): Operation<T>;
  sleep(place: Place, ms: number): Operation<void>;
}
