/** Runs worker.ts, on the runtime of the tests or as a compiled program. */
import { type Operation } from "effection";
import { join } from "node:path";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { type ProgramOptions, runProgram, type Start } from "../support/program.ts";
import type { VaultProblem } from "../../src/vault/errors.ts";
import type { VaultOptions } from "../../src/vault/open.ts";

export const WORKER = join(root, "tests/vault/worker.ts");

export function workerStart(): Start {
  const name = currentRuntime();
  const { path } = useRuntime(name);
  return name === "deno" ? [path, "run", "-A", "--no-check", WORKER] : [path, WORKER];
}

export interface Outcome {
  readonly value?: unknown;
  readonly problem?: VaultProblem;
  readonly message?: string;
}

/** Its final answer; any other behaviour fails the test. */
export function* work(
  options: VaultOptions,
  command: readonly string[],
  { start = workerStart(), ...program }: ProgramOptions = {},
): Operation<Outcome> {
  const args = [JSON.stringify(options), ...command];
  const { code, stdout, stderr } = yield* runProgram(args, { start, ...program });
  if (code !== 0) throw new Error(`The worker ended with ${code}:\n${stdout}${stderr}`);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}
