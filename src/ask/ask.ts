/**
 * The interface that elicitation and sampling need from the run of a tool. The context of each
 * branch implements `Asker`. Code in `ask/` does not know how a question reaches the client.
 */
import type { Operation } from "effection";
import type {
  AnswerBody,
  ClientAnswer,
  ClientInfo,
  Door,
  ElicitFormParams,
  ElicitUrlParams,
  Place,
  RequestFailure,
  SampleParams,
} from "../model/events.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { ElicitForm } from "../tool/elicit-types.ts";
import type { SampleAnswerer } from "../tool/sample-types.ts";

/** A question that has no id and no place in the run yet. */
export type Question =
  | {
    readonly kind: "elicit";
    readonly key: string;
    readonly params: ElicitFormParams;
    readonly sensitive?: readonly string[];
    readonly door?: Door;
    readonly moved?: true;
  }
  | { readonly kind: "elicit_url"; readonly key: string; readonly params: ElicitUrlParams }
  | {
    readonly kind: "sample";
    readonly key: string;
    readonly params: SampleParams;
    readonly by?: "caller";
  }
  | { readonly kind: "roots"; readonly key: string };

/** The outcome of a question. */
export type Reply =
  | (
    & { readonly type: "answered"; readonly requestId: string; readonly response: ClientAnswer }
    & How
  )
  | { readonly type: "timeout" };

/** How an answer reached the tool, and after how long. */
export type How = Pick<AnswerBody, "via" | "elapsed" | "closed">;

export interface Asker {
  readonly client: ClientInfo;
  /** The server's own model, if one is configured. */
  readonly provider: SamplingProvider | undefined;
  /** Who answers sampling requests by default. The config of a sampling request can override it. */
  readonly answerer: SampleAnswerer;
  /** Whether the model that called the tool may answer sampling requests. */
  readonly byCaller: boolean;
  /** Converts the schemas that the tool passes to `ctx`. */
  readonly schemas: SchemaReader;
  /**
   * Returns the door at which to ask a question next, or undefined if no door is left. `tried`
   * lists the doors at which nobody could answer. `refused` is true if the last door refused the
   * question.
   */
  nextDoor(form: ElicitForm, tried: readonly Door[], refused: boolean): Door | undefined;
  /** Reports an error to the operator, and to nobody else. */
  report(what: string, error: unknown): void;
  /** Returns an id that is the same when the tool is replayed. */
  newId(kind: string): string;
  /** Returns a random id that is the same when the tool is replayed. */
  fresh(what: string): Operation<string>;
  /** Returns the time in milliseconds since the epoch. */
  time(): number;
  /**
   * Runs an operation once and records its result, which must be JSON. A replay uses the recorded
   * result.
   */
  once<T>(name: string, run: () => Operation<T>): Operation<T>;
  /**
   * In a replay, returns true if the next recorded event is an elicitation with this key, and its
   * message starts with `start`.
   */
  askedNext(key: string, start: string): boolean;
  /** Sends the question and waits for the answer. Halting the operation withdraws the question. */
  ask(question: Question, timeout?: number): Operation<Reply>;
}

/** Returns the part of an answer event that says how the answer reached the server. */
export function howOf({ via, elapsed, closed }: How): How {
  const how: { -readonly [K in keyof How]: How[K] } = {};
  if (via !== undefined) how.via = via;
  if (elapsed !== undefined) how.elapsed = elapsed;
  if (closed) how.closed = closed;
  return how;
}

/**
 * Returns true if the client answered with an error. The response comes from the client, so it may
 * have any type.
 */
export function isFailure(response: ClientAnswer): response is RequestFailure {
  return typeof response === "object" && response !== null && "error" in response;
}

/** A question with its place in the run. */
export type PlacedQuestion = Question & { readonly place: Place };

export function checkLimit(what: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  throw new TypeError(`Cannot use ${what}: it is ${String(value)}; give a number of 0 or more`);
}
