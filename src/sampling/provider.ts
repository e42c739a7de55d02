/** The interface of language models that the server reaches itself. */
import type { SampleParams, SampleResponse } from "../model/events.ts";

/** The name of the reserved tool. A model calls it to answer with structured data. */
export const SCHEMA_TOOL = "__schema__";

/**
 * A language model that the server reaches itself. It gets the same parameters as a client,
 * including the reserved tool `__schema__`, and answers in the same form.
 */
export interface SamplingProvider {
  /** The name of the model in logs and errors, such as `anthropic:claude-sonnet-5`. */
  readonly name: string;
  /** Answers a sampling request, or throws. It must stop when the signal aborts. */
  sample(params: SampleParams, signal: AbortSignal): Promise<SampleResponse>;
}
