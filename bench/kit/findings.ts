/** The findings of a benchmark, and whether they meet its targets. */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { currentRuntime, type RuntimeName } from "../../tests/harness/toolchain.ts";

/** The target of a finding. It may differ between runtimes. */
export interface Aim {
  readonly most?: number;
  readonly least?: number;
}

export interface Finding {
  /** The name of the finding, in the table and elsewhere. */
  readonly key: string;
  readonly what: string;
  readonly runtime: RuntimeName;
  readonly value: number;
  readonly unit: string;
  /** The lowest and the highest of several measurements. */
  readonly spread?: readonly [number, number];
  readonly aim?: Aim;
  readonly met?: boolean;
}

/** Prints a finding, and passes it to the parent process if the parent asks for it. */
export function find(
  key: string,
  what: string,
  measured: Spread | number,
  unit: string,
  aim?: Aim,
): void {
  const { value, low, high } = typeof measured === "number"
    ? { value: measured, low: undefined, high: undefined }
    : measured;
  const met = aim && value <= (aim.most ?? Infinity) && value >= (aim.least ?? -Infinity);
  const finding: Finding = {
    key,
    what,
    runtime: currentRuntime(),
    value,
    unit,
    ...(low !== undefined && { spread: [low, high!] as const }),
    ...(aim && { aim, met: met! }),
  };
  console.log(lineOf(finding));
  if (met === false) process.exitCode = 1;
  const out = process.env.PARLEY_BENCH_OUT;
  if (out) appendFileSync(out, `${JSON.stringify(finding)}\n`);
}

export function lineOf({ what, value, unit, spread, aim, met }: Finding): string {
  const range = spread ? ` (${figure(spread[0])} to ${figure(spread[1])})` : "";
  const verdict = aim ? `, ${aimOf(aim)}: ${met ? "met" : "NOT MET"}` : "";
  return `${what}: ${figure(value)}${unit && ` ${unit}`}${range}${verdict}`;
}

export function aimOf({ most, least }: Aim): string {
  return most === undefined ? `at least ${figure(least!)}` : `at most ${figure(most)}`;
}

/** Formats a number with significant digits only. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, " ");
}

/** The median of several measurements, and their spread. */
export interface Spread {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The median of several measurements, and the quartiles around it. */
export function middleHalf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]!;
  return { value: at(0.5), low: at(0.25), high: at(0.75) };
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { value: sorted[sorted.length >> 1]!, low: sorted[0]!, high: sorted.at(-1)! };
}
