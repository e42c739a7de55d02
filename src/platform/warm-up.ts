/**
 * An executable that was just started does most things once, and to compile those
 * would only keep it from them. So it is built to wait with that (`scripts/compile.ts`
 * says so) until it is told that the start is over.
 */

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: { readonly unsafe?: { setJITPolicy?(scale: number): void } };

/** How much longer than usual it waits, while it starts. */
export const JIT_POLICY = 20;

/** From now on, what is done often is worth to be compiled. */
export function startIsOver(): void {
  if ("Bun" in globalThis) Bun.unsafe?.setJITPolicy?.(1);
}
