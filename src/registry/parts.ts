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
  /** False if the store is in this registry's memory. No other process can open its records then. */
  readonly outlasts: boolean;
  readonly limits: RegistryLimits;
  readonly live: Admission;
  readonly budget: Budget;
  /** Changes whenever a session leaves `live`, and whenever work on the store ends. */
  readonly activity: Condition;
  readonly server: AttachedServer;
  readonly report: (fault: Fault) => void;
}
