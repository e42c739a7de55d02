/** Serves HTTP on the current runtime. */
import { listen as listenOnBun } from "./bun.ts";
import { listen as listenOnDeno } from "./deno.ts";
import { listen as listenOnNode } from "./node.ts";
import type { Listen } from "./types.ts";

export const listen: Listen = "Bun" in globalThis
  ? listenOnBun
  : "Deno" in globalThis
  ? listenOnDeno
  : listenOnNode;
