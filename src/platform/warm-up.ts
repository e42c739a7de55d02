/**
 * Delays the JIT compiler during start-up. A program that starts runs most code once, so compiling
 * it would only cost time. `scripts/compile.ts` builds the executable with the delay;
 * `startIsOver()` ends it.
 */

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
declare const Bun: { readonly unsafe?: { setJITPolicy?(scale: number): void } };

/** By how much the compiler's thresholds are raised during start-up. */
export const JIT_POLICY = 20;

/** Sets the compiler back to its usual thresholds. */
export function startIsOver(): void {
  if ("Bun" in globalThis) Bun.unsafe?.setJITPolicy?.(1);
}
