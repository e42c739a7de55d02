/** The options and limits of a registry, with their defaults. */
import { canElicitForm } from "../ask/elicit.ts";
import type { Clock } from "../lib/clock.ts";
import type { Sealer } from "../lib/sealer.ts";
import { PageError } from "../model/errors.ts";
import type { ClientInfo, ServerChange } from "../model/events.ts";
import type { DoorPort, Fault, SamplingSetup, Site } from "../run/run-port.ts";
import type { SessionHooks } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { EndedCall } from "../session/types.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import type { Sweepable } from "./sweeper.ts";

/**
 * The limits of a registry of tool sessions. They prevent one caller from using all resources of
 * the program. Each limit has a default. All times are in milliseconds.
 */
export interface RegistryLimits {
  /** The maximum number of sessions that are running or waiting. Default: 10,000. */
  readonly maxSessions: number;
  /** The maximum number of sessions of one named caller. Default: a tenth of `maxSessions`. */
  readonly maxSessionsPerPrincipal: number;
  /**
   * Approximate memory of all sessions that have not ended, and of client sessions, in bytes.
   * Default: 256 MiB, or 26 KiB for each of `maxSessions` if that is more.
   */
  readonly maxMemory: number;
  /** Approximate memory of one named caller, in bytes. Default: a quarter of `maxMemory`. */
  readonly maxMemoryPerPrincipal: number;
  /**
   * Approximate size of all records in the store, in bytes. It applies to stores with a `usage`
   * method. Default: 1 GiB.
   */
  readonly maxStore: number;
  /** Approximate size of one named caller's records, in bytes. Default: a quarter of `maxStore`. */
  readonly maxStorePerPrincipal: number;
  /** The maximum number of finished sessions that are kept in memory. Default: `maxSessions`. */
  readonly maxFinishedSessions: number;
  /** Approximate memory of all finished sessions, in bytes. Default: 64 MiB. */
  readonly maxFinishedMemory: number;
  /** The maximum number of events that are kept for each session. Default: 1,000. */
  readonly maxEventsPerSession: number;
  /** Approximate size of the events that are kept for each session, in bytes. Default: 4 MiB. */
  readonly maxEventBytesPerSession: number;
  /**
   * Time for which a finished session is kept for callers that lost its result, in milliseconds.
   * Default: one minute.
   */
  readonly finishedTimeToLive: number;
  /**
   * Time for which an abandoned session waits for an answer, in milliseconds. Default: one hour.
   */
  readonly waitingTimeToLive: number;
  /**
   * Time for which an abandoned durable session is kept, in milliseconds. Default: one week with
   * a store, `waitingTimeToLive` without one.
   */
  readonly durableTimeToLive: number;
  /**
   * Time after which an abandoned durable session that waits for an answer leaves memory, in
   * milliseconds. It continues from its record. Default: one minute.
   */
  readonly passivateAfter: number;
}

/** Returns the definition with this kind and name, if there is one. */
export type FindDefinition = (kind: Definition["kind"], name: string) => Definition | undefined;

/** The options of a registry of tool sessions. All are optional. */
export interface RegistryOptions {
  /** Where the records of durable sessions are stored. Default: in memory. */
  readonly store?: ToolSessionStore;
  /**
   * Finds a tool, prompt or resource by name, to resume its durable sessions. Default: a function
   * that finds none.
   */
  readonly find?: FindDefinition;
  /** Encrypts sensitive answers in the store. Default: a sealer with a new random key. */
  readonly sealer?: Sealer;
  /** The clock that all timers use. Default: the system's clock. */
  readonly clock?: Clock;
  /** The program's own language model, and when it is used instead of the caller's. */
  readonly sampling?: SamplingSetup;
  /** The limits of the registry. Default: see each limit. */
  readonly limits?: Partial<RegistryLimits>;
  /** Called with each error of a tool. Default: prints to stderr. */
  readonly report?: (fault: Fault) => void;
  /** Called with each session that has ended, for logs and metrics. */
  readonly onCall?: (call: EndedCall) => void;
}

/** The callbacks of a server for the registry that runs its calls. */
export interface ServerHooks extends Pick<RegistryOptions, "find">, SessionHooks {
  /** Other stores that the registry sweeps together with its own. */
  readonly sweep?: readonly Sweepable[];
  /** Called with each session that has resumed without a request, because it was due. */
  readonly woken?: (session: LiveToolSession) => void;
  /** Called with each session that has ended, unless it ended in its first step. */
  readonly ended?: (session: LiveToolSession) => void;
  /** The functions of the server that tools can use. Default: none, so tools cannot open pages. */
  readonly site?: Site;
  /** Called with each change that tools announce to all clients. */
  readonly announce?: (change: ServerChange) => void;
}

const MIB = 1024 * 1024;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Returns the limits from the options, with defaults for those that are not set. */
export function registryLimits({ limits = {}, store }: RegistryOptions): RegistryLimits {
  const {
    maxSessions = 10_000,
    maxMemory = Math.max(256 * MIB, maxSessions * 26 * 1024),
    maxStore = 1024 * MIB,
    waitingTimeToLive = HOUR,
  } = limits;
  return {
    maxSessions,
    maxSessionsPerPrincipal: limits.maxSessionsPerPrincipal ?? Math.ceil(maxSessions / 10),
    maxMemory,
    maxMemoryPerPrincipal: limits.maxMemoryPerPrincipal ?? Math.ceil(maxMemory / 4),
    maxStore,
    maxStorePerPrincipal: limits.maxStorePerPrincipal ?? Math.ceil(maxStore / 4),
    maxFinishedSessions: limits.maxFinishedSessions ?? maxSessions,
    maxFinishedMemory: limits.maxFinishedMemory ?? 64 * MIB,
    maxEventsPerSession: limits.maxEventsPerSession ?? 1_000,
    maxEventBytesPerSession: limits.maxEventBytesPerSession ?? 4 * MIB,
    finishedTimeToLive: limits.finishedTimeToLive ?? MINUTE,
    waitingTimeToLive,
    durableTimeToLive: limits.durableTimeToLive ?? (store ? 7 * 24 * HOUR : waitingTimeToLive),
    passivateAfter: limits.passivateAfter ?? MINUTE,
  };
}

/** The default client. It is part of this program, and has all capabilities. */
export const IN_PROCESS: ClientInfo = {
  capabilities: {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: {},
  },
};

/** The doors of a program without a server: it shows forms itself. */
export const FORM_ONLY: DoorPort = {
  choose: ({ client }, { by }, tried) =>
    canElicitForm(client) && by !== "signed-in" && tried.length === 0 ? "form" : undefined,
  isUnseen: () => false,
};

export const inProcess: Site = {
  local: true,
  url: undefined,
  // The program itself shows the form, so no client sees the password.
  formPasswords: true,
  doors: FORM_ONLY,
  *open() {
    throw new PageError("this program does not serve pages", "run the tool on a server");
  },
};
