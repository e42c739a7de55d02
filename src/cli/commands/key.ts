/** The key that seals the state sent to clients: from the environment, or generated at start-up. */
import { Sealer } from "../../lib/sealer.ts";
import type { OperatorLog } from "../log.ts";
import { Problem, USAGE } from "../problem.ts";

/** Minimum length of a key: a short one could be guessed. */
export const SHORTEST_KEY = 16;

/**
 * `PARLEY_KEY` contains one key, or several separated by commas. The first one seals new data; all
 * of them can open sealed data. Without `PARLEY_KEY`, the key that is stored in a file next to the
 * store (`stored`) does both.
 */
export function sealerFrom(
  { PARLEY_KEY = "" }: { readonly PARLEY_KEY?: string | undefined },
  log: OperatorLog,
  stored?: string,
): Sealer {
  const keys = keysIn(PARLEY_KEY);
  if (keys.some((key) => key.length < SHORTEST_KEY)) {
    throw new Problem(
      `Cannot use PARLEY_KEY: a key in it is shorter than ${SHORTEST_KEY} characters; generate a key with "openssl rand -base64 32"`,
      USAGE,
    );
  }
  // Add the stored key in any case: it opens data that was sealed before PARLEY_KEY was set.
  if (stored !== undefined) keys.push(stored);
  if (keys.length === 0) {
    log.say("info", "PARLEY_KEY is not set: waiting calls end when the server stops");
  }
  return new Sealer(...keys);
}

export function keysIn(PARLEY_KEY = ""): string[] {
  return PARLEY_KEY.split(",").map((key) => key.trim()).filter((key) => key !== "");
}
