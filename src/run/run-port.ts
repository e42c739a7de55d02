/** What the runtime needs from the session that it runs a tool for. */
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

/** Something went wrong that the operator should hear of, and nobody else. */
export interface Fault {
  readonly what: string;
  readonly toolName: string;
  readonly sessionId: string;
  readonly error: unknown;
}

/** Who answers samples: a model of the server's own, and whether it comes first. */
export interface SamplingSetup {
  /** The server's own model. */
  readonly provider?: SamplingProvider;
  /** `auto` unless told: the client if it can, except where that costs a round. */
  readonly answerer?: SampleAnswerer;
}

/** How a run ended. */
export type RunOutcome =
  | { readonly type: "result"; readonly result: CallResult }
  | { readonly type: "error"; readonly error: RpcError }
  | { readonly type: "halted" };

/** The server as a run sees it. */
export interface Site extends ServerSite {
  /**
   * Opens a page that belongs to somebody, until it is closed or its time has come.
   * Where it has no path of its own, it is found by its name.
   */
  open(page: PageOptions, principal: string, name: string): Operation<Page>;
}

export interface RunPort {
  readonly id: string;
  /** On whose behalf it runs. */
  readonly principal: string;
  readonly site: Site;
  readonly client: ClientInfo;
  readonly trace: TraceContext;
  readonly deadlines: Deadlines;
  /** Who answers samples besides the client. */
  readonly sampling: SamplingSetup;
  /**
   * True from the moment that the run is told to stop. A `yield*` inside `finally`
   * makes JavaScript forget that a generator was returning and run on, so whatever
   * must not happen after a halt looks here.
   */
  halting: boolean;
  /** Records an event. While the run is being halted it records nothing. */
  emit(body: EventBody): void;
  /**
   * What to wait for before anything more is told, because whoever reads it is behind;
   * undefined if there is room. There may be none again afterwards.
   */
  room(): Operation<void> | undefined;
  /** Lets the client go; it will come back for the rest. */
  hangUp(): void;
  /** Tells everyone who listens to the server, not only this caller. */
  announce(change: ServerChange): void;
  /** Records how far the tool has come; counts by itself where it is not told. */
  notify(message: string, progress?: number, total?: number, branch?: string): void;
  /** Puts a question and waits; refuses while the run is being halted. */
  ask(question: PlacedQuestion, timeout?: number): Operation<Reply>;
  /** In a run that is replayed: whether a branch asked this next. */
  wasAsked(branch: string, kind: Place["kind"], key: string): boolean;
  /** Where what needs a task of its own is run. */
  readonly scope: Scope;
  /** How many parts of the tool are at work besides the first, where none of them is a task. */
  parallel: number;
  /** Does things once, and remembers how they came out. */
  readonly facts: Facts;
  /** When the call began, in milliseconds since the epoch. */
  readonly createdAt: number;
  report(fault: Fault): void;
  /** Hears, once, how the run ended. */
  runEnded(outcome: RunOutcome): void;
}

/** What is done once, also if the tool is run again. */
export interface Facts {
  /** Whether a step is on the stack: what happens there is not recorded by itself. */
  readonly isInside: boolean;
  /** Whether a branch went on with this elicitation when the tool was run before. */
  askedNext(branch: string, key: string, start: string): boolean;
  step<T>(place: Place, run: (key: string) => Operation<T>): Operation<T>;
  /** `drawn` are random bytes to make it of, where they must be the same the next time. */
  value<T>(place: Place, make: (drawn?: Buffer) => T): Operation<T>;
  sleep(place: Place, ms: number): Operation<void>;
}
