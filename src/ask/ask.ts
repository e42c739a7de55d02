/**
 * What the backchannel needs from whoever runs the tool. The session implements
 * it, one view for each branch; nothing here knows how a question travels.
 */
import type { Operation } from "effection";
import type {
  ClientAnswer,
  ClientInfo,
  ElicitFormParams,
  ElicitUrlParams,
  Place,
  RequestFailure,
  SampleParams,
} from "../model/events.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { SampleAnswerer } from "../tool/sample-types.ts";

/** A question before it has an id and a place. */
export type Question =
  | {
    readonly kind: "elicit";
    readonly key: string;
    readonly params: ElicitFormParams;
    readonly sensitive?: readonly string[];
  }
  | { readonly kind: "elicit_url"; readonly key: string; readonly params: ElicitUrlParams }
  | { readonly kind: "sample"; readonly key: string; readonly params: SampleParams }
  | { readonly kind: "roots"; readonly key: string };

/** What became of a question. */
export type Reply =
  | { readonly type: "answered"; readonly requestId: string; readonly response: ClientAnswer }
  | { readonly type: "timeout" };

export interface Asker {
  readonly client: ClientInfo;
  /** The server's own model, if it has one. */
  readonly provider: SamplingProvider | undefined;
  /** Who answers samples, where neither the client nor the call says otherwise. */
  readonly answerer: SampleAnswerer;
  /** Reads the schemas that the tool passes to `ctx`. */
  readonly schemas: SchemaReader;
  /** Whether this form may ask for a password. */
  mayAskPassword(key: string): boolean;
  /** Tells the operator, and nobody else. */
  report(what: string, error: unknown): void;
  /** An id that is the same when the tool is run again. */
  newId(kind: string): string;
  /** An id that nobody can guess, and that is the same when the tool is run again. */
  fresh(what: string): Operation<string>;
  /** Milliseconds since the epoch. */
  time(): number;
  /** Does something once, also if the tool is run again; what comes of it must be JSON. */
  once<T>(name: string, run: () => Operation<T>): Operation<T>;
  /**
   * Whether the record of an earlier run goes on with an elicitation of this key and
   * whose message begins like that.
   */
  askedNext(key: string, start: string): boolean;
  /** Puts the question and waits. Leaving it early takes the question back. */
  ask(question: Question, timeout?: number): Operation<Reply>;
}

/** Whether the client could not answer at all. What came back may be anything. */
export function isFailure(response: ClientAnswer): response is RequestFailure {
  return typeof response === "object" && response !== null && "error" in response;
}

/** A question together with where it is asked. */
export type PlacedQuestion = Question & { readonly place: Place };

export function checkLimit(what: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  throw new TypeError(`Cannot use ${what}: it is ${String(value)}; give a number of 0 or more`);
}
