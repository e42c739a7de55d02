/** Whoever is asked: a person at a terminal, or nobody. */
import type { Operation } from "effection";
import type {
  ClientAnswer,
  ElicitFormParams,
  ElicitUrlParams,
  LogLevel,
  SampleParams,
} from "../model/events.ts";

/** A question, whichever way it came. */
export type Question =
  | {
    readonly type: "form";
    readonly params: ElicitFormParams;
    /** Fields that must not be echoed. */
    readonly sensitive: readonly string[];
  }
  | { readonly type: "page"; readonly params: Omit<ElicitUrlParams, "elicitationId"> }
  | { readonly type: "sample"; readonly params: SampleParams }
  | { readonly type: "roots" };

/** How far a call has come. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface Person {
  /** Answers; when it is halted, the question is taken away. */
  answer(question: Question): Operation<ClientAnswer>;
  progress(progress: Progress): void;
  log(level: LogLevel, data: unknown): void;
  /** Nothing more will come. */
  done(): void;
}
