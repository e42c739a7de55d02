/**
 * Checks a limit that is given while a tool runs. Types say the same at compile
 * time, but not of NaN, which gets past every comparison and would stand in the
 * way of everybody's deadlines.
 */
export function checkLimit(what: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  throw new TypeError(`Cannot use ${what}: it is ${String(value)}; give a number of 0 or more`);
}
