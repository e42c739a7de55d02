/** The objects that all parts of a registry share. */
import type { Scope } from "effection";
import type { Condition } from "../lib/condition.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import type { Fault } from "../run/run-port.ts";
import type { ToolSessionStore } from "../store/types.ts";
import type { Admission } from "./admission.ts";
import type { AttachedServer } from "./attached-server.ts";
import type { Budget } from "./budget.ts";
import type { RegistryLimits } from "./options.ts";

export interface RegistryParts {
  /** The scope that sessions, their journals and all background work run in. */
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly store: ToolSessionStore;
  /**
   * True if the store outlasts the registry. False if the store is in memory, so that no other
   * process can open its records.
   */
  readonly outlasts: boolean;
  readonly limits: RegistryLimits;
  readonly live: Admission;
  readonly budget: Budget;
  /** Signals each session that leaves `live`, and each completed operation on the store. */
  readonly activity: Condition;
  readonly server: AttachedServer;
  readonly report: (fault: Fault) => void;
}
