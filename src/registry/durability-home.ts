/** What stands around the durable sessions of a registry. */
import type { Scope } from "effection";
import type { ClientInfo } from "../model/events.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import type { Fault } from "../run/run-port.ts";
import type { ToolSessionEntry, ToolSessionStore } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import type { Budget } from "./budget.ts";
import type { Sweepable } from "./sweeper.ts";
import type { LiveToolSession } from "../session/tool-session.ts";

/** Finds what a session was a run of. */
export type FindDefinition = (kind: Definition["kind"], name: string) => Definition | undefined;

/** Makes a session that is not started; the registry does. */
export type MakeSession = (
  entry: ToolSessionEntry,
  definition: Definition,
  client: ClientInfo,
  principal: string,
) => LiveToolSession;

export interface DurabilityHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly store: ToolSessionStore;
  /** Whether what is in the store outlasts this registry. */
  readonly outlasts: boolean;
  /** How many may have left for a store that does not. */
  readonly mostResting: number;
  readonly budget: Budget;
  /** What else is to forget things from time to time. */
  readonly sweep: readonly Sweepable[];
  readonly definitionOf: FindDefinition;
  readonly make: MakeSession;
  /** A session in memory. */
  find(id: string): LiveToolSession | undefined;
  hasRoom(): boolean;
  /** Throws if nothing is taken up any more or, where a caller is told, if it has no room left. */
  admit(principal?: string): void;
  /** Takes a session up although nobody asks for it. */
  wake(id: string): Promise<void>;
  /** Nothing may be under way here any more. */
  settled(): void;
  report(fault: Fault): void;
  /** Lets a session go that has ended. */
  dismiss(session: LiveToolSession): void;
  /** Takes in a session that has its record, and starts it, unless something is against it. */
  enter(session: LiveToolSession, params: unknown, refusal?: string): void;
  /** How long a session that is left alone is kept. */
  timeToLive(): number;
}
