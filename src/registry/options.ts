/** How a registry is set up, and what it does where it is not told. Times are milliseconds. */
import type { Clock } from "../lib/clock.ts";
import type { Sealer } from "../lib/sealer.ts";
import type { ShareLimits } from "../lib/shares.ts";
import { PageError } from "../model/errors.ts";
import type { ClientInfo, ServerChange } from "../model/events.ts";
import type { Fault, SamplingSetup, Site } from "../run/run-port.ts";
import type { LogLimits } from "../session/event-log.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { EndedCall } from "../session/types.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { BudgetLimits } from "./budget.ts";
import type { FindDefinition } from "./durability-home.ts";
import type { FinishedLimits } from "./retention.ts";
import type { Sweepable } from "./sweeper.ts";

/**
 * How many calls may be alive, how long each is kept, and who hears of them. The
 * limits are there so that no client can use up the server; each has a default.
 */
export interface RegistryOptions {
  /** How many calls may be alive at once; 10,000 unless told. */
  readonly maxSessions?: number;
  /** How many of them may be one named caller's; a tenth of all unless told. */
  readonly maxSessionsPerPrincipal?: number;
  /**
   * Bytes, roughly, that all calls that are alive may take in memory, with what is kept for
   * clients; by default 256 MiB, or 26 KiB for each of `maxSessions` where that is more.
   */
  readonly maxMemory?: number;
  /** How many of them may be one named caller's; by default a quarter. */
  readonly maxMemoryPerPrincipal?: number;
  /**
   * Bytes, roughly, that the records of durable calls may take in a store that tells its
   * `usage`; 1 GiB.
   */
  readonly maxStored?: number;
  /** How many of them may be one named caller's; by default a quarter. */
  readonly maxStoredPerPrincipal?: number;
  /** How many finished calls are kept at most; as many as may be alive, unless told. */
  readonly maxFinished?: number;
  /** Bytes, roughly, that the finished calls may take together; 64 MiB. */
  readonly maxFinishedBytes?: number;
  /** Milliseconds that a finished call is kept for those who lost its result; one minute. */
  readonly graceTime?: number;
  /** Milliseconds that an unanswered question may wait with nobody there; one hour. */
  readonly timeToLive?: number;
  /** Events kept for each call; 1,000. */
  readonly maxEvents?: number;
  /** Bytes of events kept for each call, roughly; 4 MiB. */
  readonly maxBytes?: number;
  /** Milliseconds that a durable call is kept while nobody comes back to it; with a store one week. */
  readonly durableTimeToLive?: number;
  /** Milliseconds after which a durable call that waits, with nobody there, leaves memory; one minute. */
  readonly passivateAfter?: number;
  /** Where the record of durable calls is kept; in memory unless told. */
  readonly store?: ToolSessionStore;
  /** Finds what a durable call was a run of, to take it up again. */
  readonly find?: FindDefinition;
  /** What else is to forget things from time to time. */
  readonly sweep?: readonly Sweepable[];
  /** Hears of every session that was taken up because its time had come. */
  readonly woken?: (session: LiveToolSession) => void;
  /** Seals sensitive answers in the store; with a key of its own unless told. */
  readonly sealer?: Sealer;
  readonly clock?: Clock;
  /** Who answers samples besides the client. */
  readonly sampling?: SamplingSetup;
  /** The server as tools see it; one inside of this program, without pages, unless told. */
  readonly site?: Site;
  /** Hears of tools that break; prints to the error output unless told. */
  readonly report?: (fault: Fault) => void;
  /** Hears of what tools announce to every client. */
  readonly announce?: (change: ServerChange) => void;
  /** Hears of every call that has ended, for a log or a count. */
  readonly onCall?: (call: EndedCall) => void;
}

const MIB = 1024 * 1024;

/** How much is kept, in each place where something is. */
export function limitsOf(options: RegistryOptions): {
  readonly log: LogLimits;
  readonly live: ShareLimits;
  readonly budget: BudgetLimits;
  readonly finished: FinishedLimits;
} {
  const max = options.maxSessions ?? 10_000;
  const { maxMemory = Math.max(256 * MIB, max * 26 * 1024), maxStored = 1024 * MIB } = options;
  return {
    log: {
      maxEvents: options.maxEvents ?? 1_000,
      maxBytes: options.maxBytes ?? 4 * MIB,
    },
    live: { max, maxPerPrincipal: options.maxSessionsPerPrincipal ?? Math.ceil(max / 10) },
    budget: {
      memory: {
        max: maxMemory,
        maxPerPrincipal: options.maxMemoryPerPrincipal ?? Math.ceil(maxMemory / 4),
      },
      store: {
        max: maxStored,
        maxPerPrincipal: options.maxStoredPerPrincipal ?? Math.ceil(maxStored / 4),
      },
    },
    finished: {
      max: options.maxFinished ?? max,
      maxBytes: options.maxFinishedBytes ?? 64 * MIB,
    },
  };
}

/** A caller who says nothing about itself is part of this program, and can answer anything. */
export const IN_PROCESS: ClientInfo = {
  capabilities: {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: {},
  },
};

export const inProcess: Site = {
  local: true,
  url: undefined,
  // No client is in between.
  formPasswords: true,
  *open() {
    throw new PageError("this program serves none", "serve the tool, or do without a page");
  },
};
