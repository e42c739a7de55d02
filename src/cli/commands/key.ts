/** The key that seals what clients carry for us: from the environment, or made at the start. */
import { Sealer } from "../../lib/sealer.ts";
import type { OperatorLog } from "../log.ts";
import { Problem, USAGE } from "../problem.ts";

/** A key that could be guessed would seal nothing. */
const SHORTEST = 16;

/**
 * `PARLEY_KEY` holds one key, or several with commas between: the first seals, all
 * of them open. Without it, the key that is `stored` beside the store does both.
 */
export function sealerFrom(
  { PARLEY_KEY = "" }: { readonly PARLEY_KEY?: string | undefined },
  log: OperatorLog,
  stored?: string,
): Sealer {
  const keys = keysIn(PARLEY_KEY);
  if (keys.some((key) => key.length < SHORTEST)) {
    throw new Problem(
      `Cannot use PARLEY_KEY: a key in it is shorter than ${SHORTEST} characters; make one with "openssl rand -base64 32"`,
      USAGE,
    );
  }
  // Always good to open with: what was sealed before PARLEY_KEY was set is still there.
  if (stored !== undefined) keys.push(stored);
  if (keys.length === 0) {
    log.say("info", "PARLEY_KEY is not set, so calls that wait end with this server");
  }
  return new Sealer(...keys);
}

export function keysIn(PARLEY_KEY = ""): string[] {
  return PARLEY_KEY.split(",").map((key) => key.trim()).filter((key) => key !== "");
}
