/** Where a caller stands in a distributed trace, as `_meta` tells it in both eras. */
import type { JsonObject } from "../content.ts";
import type { TraceContext } from "../events.ts";

const NO_TRACE: TraceContext = {};

export function traceIn({ traceparent, tracestate, baggage }: JsonObject): TraceContext {
  if (traceparent === undefined && tracestate === undefined && baggage === undefined) {
    return NO_TRACE;
  }
  return {
    ...(typeof traceparent === "string" && { traceparent }),
    ...(typeof tracestate === "string" && { tracestate }),
    ...(typeof baggage === "string" && { baggage }),
  };
}
