/** Progress values. MCP requires that they increase with every notification of a call. */

const SMALLEST_STEP = 0.001;

/**
 * Returns a value slightly above `last`. Returns 0 if `last` is `-Infinity`, which means that there
 * was no value yet.
 */
export function nextProgress(last: number): number {
  if (last === -Infinity) return 0;
  // For large numbers, a step of 0.001 would be lost to rounding.
  const step = Math.max(SMALLEST_STEP, Math.abs(last) * (2 * Number.EPSILON));
  return Math.min(last + step, Number.MAX_VALUE);
}
