/** Who answers when the client cannot. */
import type { SampleParams, SampleResponse } from "../model/events.ts";

/** The reserved tool that stands for "answer with data". */
export const SCHEMA_TOOL = "__schema__";

/**
 * A model that the server can reach by itself. It gets what a client would get,
 * `__schema__` included, and answers as a client would.
 */
export interface SamplingProvider {
  /** For logs and errors, such as `anthropic:claude-sonnet-5`. */
  readonly name: string;
  /** Answers, or throws. It stops as soon as the signal says so. */
  sample(params: SampleParams, signal: AbortSignal): Promise<SampleResponse>;
}
