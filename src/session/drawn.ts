/**
 * Values that look random and are the same wherever a round of a call is done again. Servers that
 * share calls only through what clients carry may both do a step; handing its key and these values
 * to another system, they hand it the same.
 */
import type { Buffer } from "node:buffer";
import type { Place } from "../model/events.ts";
import { nodeCrypto } from "./node-crypto.ts";

/** 32 bytes that follow from the seed and the place, and that nobody can tell without the seed. */
export function drawnAt(seed: string, { branch, kind, key, count }: Place): Buffer {
  const place = JSON.stringify([branch, kind, key, count]);
  return nodeCrypto().createHmac("sha256", `parley values\0${seed}`).update(place).digest();
}
