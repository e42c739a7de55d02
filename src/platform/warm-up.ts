/**
 * Delays the JIT compiler during start-up. Most code runs only once while a program starts, so
 * compiling it would cost more time than it saves. `scripts/compile.ts` builds the executable with
 * this delay, and `startIsOver()` ends the delay.
 */

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
declare const Bun: { readonly unsafe?: { setJITPolicy?(scale: number): void } };

/** The factor by which the compiler's thresholds are raised during start-up. */
export const JIT_POLICY = 20;

/** Sets the compiler back to its usual thresholds. */
export function startIsOver(): void {
  if ("Bun" in globalThis) Bun.unsafe?.setJITPolicy?.(1);
}
