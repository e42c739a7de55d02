/** The person who answers a server's questions. */
import type { Operation } from "effection";
import type {
  ClientAnswer,
  ElicitFormParams,
  ElicitUrlParams,
  LogLevel,
  SampleParams,
} from "../model/events.ts";

/** A question, from either era. */
export type Question =
  | {
    readonly type: "form";
    readonly params: ElicitFormParams;
    /** Fields whose input must not be shown. */
    readonly sensitive: readonly string[];
  }
  | { readonly type: "page"; readonly params: Omit<ElicitUrlParams, "elicitationId"> }
  | { readonly type: "sample"; readonly params: SampleParams }
  | { readonly type: "roots" };

/** The progress of a call. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface Person {
  /** Answers a question. Halting the operation withdraws the question. */
  answer(question: Question): Operation<ClientAnswer>;
  progress(progress: Progress): void;
  log(level: LogLevel, data: unknown): void;
  /** Called when the call has ended. */
  done(): void;
}
