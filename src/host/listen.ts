/** Serves on whichever runtime this is. */
import type { Listen } from "./types.ts";

export const listen: Listen = async (fetch, options) => {
  const { listen } = "Bun" in globalThis
    ? await import("./bun.ts")
    : "Deno" in globalThis
    ? await import("./deno.ts")
    : await import("./node.ts");
  return await listen(fetch, options);
};
