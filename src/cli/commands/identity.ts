/** The flags for the name, the version, the instructions and the limits of a server. */
import { nearest } from "../../lib/nearest.ts";
import { registryLimits } from "../../registry/options.ts";
import { type ParleyLimits, type ParleyOptions, serverLimits } from "../../server/options.ts";
import { Problem, USAGE } from "../problem.ts";
import type { StdioFlags } from "../server-flags.ts";

type IdentityFlags = Partial<StdioFlags>;

export function identityOptions(
  { serverName, serverVersion, instructions }: IdentityFlags,
  version: string,
): Pick<ParleyOptions, "name" | "version" | "instructions"> {
  return {
    ...(serverName !== undefined && { name: serverName }),
    version: serverVersion ?? version,
    ...(instructions !== undefined && { instructions }),
  };
}

/** Limits that have flags of their own, with other units. */
const OTHERS: { readonly [name: string]: string } = {
  durableTimeToLive: "--keep",
  maxMemory: "--max-memory",
  maxStore: "--max-store",
  maxRequestsPerMinute: "--max-requests",
};

/** The names of the limits that `--limit` accepts. */
export function limitNames(): string[] {
  return Object.keys({ ...serverLimits(), ...registryLimits({}) })
    .filter((name) => !(name in OTHERS)).sort();
}

/** The limits of `--limit`. */
export function limitOptions({ limit = {} }: IdentityFlags): Partial<ParleyLimits> {
  const known = limitNames();
  for (const name of Object.keys(limit)) {
    const other = OTHERS[name];
    if (other !== undefined) {
      throw new Problem(
        `Cannot use the limit "${name}": it has a flag of its own; use ${other}`,
        USAGE,
      );
    }
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const next = meant === undefined
      ? `use one of ${known.join(", ")}`
      : `did you mean "${meant}"?`;
    throw new Problem(`Cannot use the limit "${name}": there is no such limit; ${next}`, USAGE);
  }
  return limit;
}
