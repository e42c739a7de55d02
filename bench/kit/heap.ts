/** Bytes of live heap, after garbage collection. */
import process from "node:process";

export async function heapMeter(): Promise<() => number> {
  const { gc } = globalThis as { gc?: () => void };
  if (!gc) throw new Error("Cannot measure the heap: there is no gc(); run it with --expose-gc");
  if (!("bun" in process.versions)) {
    return () => {
      gc();
      gc();
      return process.memoryUsage().heapUsed;
    };
  }
  // The name is not a literal, because Deno would try to resolve it.
  const module = "bun:jsc";
  const { heapStats, fullGC } = await import(module) as {
    heapStats(): { heapSize: number };
    fullGC(): void;
  };
  return () => {
    fullGC();
    fullGC();
    return heapStats().heapSize;
  };
}
