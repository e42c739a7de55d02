/** Where a caller stands in a distributed trace, as `_meta` tells it in both eras. */
import type { JsonObject } from "../model/content.ts";
import type { TraceContext } from "../model/events.ts";
import { LONGEST_TRACE } from "./lengths.ts";

const NO_TRACE: TraceContext = {};

export function traceIn({ traceparent, tracestate, baggage }: JsonObject): TraceContext {
  if (traceparent === undefined && tracestate === undefined && baggage === undefined) {
    return NO_TRACE;
  }
  return {
    ...(isTrace(traceparent) && { traceparent }),
    ...(isTrace(tracestate) && { tracestate }),
    ...(isTrace(baggage) && { baggage }),
  };
}

function isTrace(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_TRACE;
}
