/** What stands around a session: the registry that keeps it, and who opened it. */
import type { Operation, Scope } from "effection";
import type { ServerChange } from "../model/events.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import type { Fault, SamplingSetup, Site } from "../run/run-port.ts";
import type { LogLimits } from "./event-log.ts";
import type { Sealer } from "../lib/sealer.ts";
import type { LiveToolSession } from "./tool-session.ts";

/** What a session needs from the registry that keeps it. */
export interface SessionHome {
  readonly scope: Scope;
  readonly deadlines: Deadlines;
  readonly logLimits: LogLimits;
  readonly sampling: SamplingSetup;
  readonly sealer: Sealer;
  readonly site: Site;
  announce(change: ServerChange): void;
  report(fault: Fault): void;
  /** It began or ceased to wait for answers, or ended. */
  changed(session: LiveToolSession): void;
  /** It has left memory, and can be run again from its log. */
  suspended(session: LiveToolSession): void;
  /** One that has left memory, taken up again. */
  takenUp(id: string): Operation<LiveToolSession | undefined>;
  /** Ends one that has left memory. */
  cancelSuspended(id: string, reason: string): Operation<void>;
}

/** Who opened a session, where that is more than a caller. */
export interface SessionOwner {
  /** It has ended, and that is recorded. */
  ended?(session: LiveToolSession): void;
  /** It has left memory. */
  left?(session: LiveToolSession): void;
  /** The registry has forgotten it. */
  gone?(session: LiveToolSession): void;
  /** The tool asks to let the client go and come back for the rest. */
  hangUp?(session: LiveToolSession): void;
}
