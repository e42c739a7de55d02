/**
 * Runs a recorded call again with the code that is loaded now, to see whether the code still does
 * what is recorded.
 *
 * DRY-1  There are no effects: nothing is sent, no step or phase without a recorded outcome runs, no
 *        page opens, no timer fires, and nothing is stored. Only code outside of steps runs, as in
 *        every replay.
 * DRY-2  The run ends: it is stopped when it waits, or when it makes no progress.
 */
import { action, createScope, type Operation, suspend, until } from "effection";
import { PROVIDER_STEP } from "../ask/attempt.ts";
import { Deadlines } from "../lib/deadlines.ts";
import { Sealer } from "../lib/sealer.ts";
import type { DryReplay, DryReplayStep } from "../model/calls.ts";
import { SessionSealedError } from "../model/errors.ts";
import { type ClientInfo, isFinal, type Place, type ToolSessionEvent } from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import type { SamplingSetup, Site } from "../run/run-port.ts";
import type { Definition } from "../tool/types.ts";
import { Recorder } from "./recorder.ts";
import { describeDivergence, type Divergence, type Replay } from "./replay.ts";
import type { SessionHome } from "./session-home.ts";
import { LiveToolSession } from "./tool-session.ts";

/** A recorded call, and the definition to run it with. */
export interface RecordedCall {
  readonly id: string;
  readonly definition: Definition;
  readonly params: unknown;
  readonly client: ClientInfo;
  readonly principal: string | Principal;
  readonly createdAt: number;
  /** The version of the tool that began the call. */
  readonly version: string | undefined;
  readonly events: readonly ToolSessionEvent[];
}

export interface DryReplayOptions {
  /** Opens sealed answers. Default: none, so that a call with such answers is refused. */
  readonly sealer?: Sealer | undefined;
  /**
   * Milliseconds without progress after which the code counts as stalled. Default: one second.
   */
  readonly patience?: number;
}

/** How many turns of the event loop the run must be quiet before it counts as waiting. */
const QUIET_TURNS = 5;

/** Runs a recorded call again without effects (DRY-1). */
export function* dryReplay(
  call: RecordedCall,
  { sealer = new Sealer(), patience = 1_000 }: DryReplayOptions = {},
): Operation<DryReplay> {
  const final = call.events.find(isFinal);
  // A call that has ended or is ending would not run.
  const end = call.events.findIndex((event) => isFinal(event) || event.type === "cancelling");
  const events = end < 0 ? call.events : call.events.slice(0, end);
  const [scope, destroy] = createScope();
  const session = new DrySession(dryHome(scope, sealer, events), call);
  try {
    session.takeOver({ events, needsCaller: false });
    session.start(call.params);
    yield* untilQuiet(session, patience);
    return { ...versionsOf(call), ...verdictOf(session, events, final) };
  } catch (error) {
    if (!(error instanceof SessionSealedError)) throw error;
    return { verdict: "refused", problem: error.message, steps: [], next: [] };
  } finally {
    // DRY-2: the generator runs its `finally` blocks.
    session.suspend();
    yield* until(destroy());
  }
}

class DrySession extends LiveToolSession {
  divergence: Divergence | undefined;
  /** The steps and phases that would run now. */
  readonly stops: Place[] = [];
  readonly #recorder = new DryRecorder(this);

  constructor(home: SessionHome, call: RecordedCall) {
    super(home, call.id, call.definition, call.client, call.principal, call.createdAt);
  }

  override get facts(): Recorder {
    return this.#recorder;
  }

  override diverged(divergence: Divergence): void {
    this.divergence ??= divergence;
    super.diverged(divergence);
  }
}

class DryRecorder extends Recorder {
  readonly #dry: DrySession;

  constructor(session: DrySession) {
    super(session);
    this.#dry = session;
  }

  /** DRY-1: returns the recorded outcome, or waits for ever. */
  override step<T>(place: Place): Operation<T> {
    return super.step<T>(place, () => {
      this.#dry.stops.push(place);
      return suspend() as Operation<never>;
    });
  }
}

/** A registry and a server that do nothing (DRY-1). */
function dryHome(
  scope: SessionHome["scope"],
  sealer: Sealer,
  events: readonly ToolSessionEvent[],
): SessionHome {
  const nothing = () => {};
  return {
    scope,
    deadlines: new Deadlines({ now: Date.now, after: () => nothing }),
    logLimits: { maxEvents: Infinity, maxBytes: Infinity },
    sampling: samplingIn(events),
    sealer,
    server: { site: SITE, hooks: {}, announce: nothing },
    report: nothing,
    changed: nothing,
    suspending: nothing,
    suspended: nothing,
  };
}

const SITE: Site = {
  local: true,
  url: "http://127.0.0.1",
  formPasswords: true,
  // Recorded questions have recorded doors. Only new questions get this one.
  doors: { choose: () => "form", isUnseen: () => false },
  *open() {
    return { url: "http://127.0.0.1/page", close: () => {} };
  },
};

/**
 * The record depends on who answers sampling requests, so use the same answerer as in the first
 * run.
 */
function samplingIn(events: readonly ToolSessionEvent[]): SamplingSetup {
  const byServer = events.some((event) => "place" in event && event.place.key === PROVIDER_STEP);
  const byCaller = events.some((event) => event.type === "sample_request" && event.by === "caller");
  const sample = () => Promise.reject(new Error("halted"));
  return { ...(byServer && { provider: { name: "recorded", sample } }), byCaller };
}

/** Waits until the run has ended, waits, or makes no progress (DRY-2). */
function* untilQuiet(session: DrySession, patience: number): Operation<void> {
  const replay = session.replay!;
  const progress = () => `${replay.progress} ${session.log.lastLSN} ${session.stops.length}`;
  let before = progress();
  let since = performance.now();
  for (let quiet = 0; !session.outcome && !session.divergence; quiet++) {
    yield* turn();
    const now = progress();
    if (now !== before) {
      before = now;
      since = performance.now();
      quiet = 0;
    }
    const waits = replay.done && (session.stops.length > 0 || session.waiting);
    if (waits && quiet >= QUIET_TURNS) return;
    if (performance.now() - since > patience) return;
  }
}

function turn(): Operation<void> {
  return action<void>((resolve) => {
    const next = setImmediate(resolve);
    return () => clearImmediate(next);
  });
}

type Verdict = Omit<DryReplay, "versions">;

function verdictOf(
  session: DrySession,
  events: readonly ToolSessionEvent[],
  final: ToolSessionEvent | undefined,
): Verdict {
  const replay = session.replay!;
  const next = nextOf(session, events.at(-1)?.lsn ?? 0);
  // The session has failed because of this divergence, so its later steps do not count.
  const failure = session.divergence ?? replay.leftOut();
  const divergence = failure ?? unreached(session, replay);
  const steps = replay.steps.map((step): DryReplayStep => ({
    lsn: step.lsn,
    ...(step.outcome && { outcomeLSN: step.outcome.lsn }),
    place: step.place,
    status: step.reached ? "same" : step.place === divergence?.recorded ? "diverged" : "missing",
  }));
  if (divergence) {
    const at = steps.find(({ place }) => place === divergence.recorded)?.lsn;
    return {
      verdict: "diverged",
      problem: describeDivergence(divergence),
      ...(at !== undefined && { divergedAt: at }),
      ...(divergence.asked && { did: divergence.asked }),
      steps,
      next: failure ? [] : next,
    };
  }
  const problem = final && differentEnd(session, final, next);
  if (!final || problem === undefined) return { verdict: "same", steps, next };
  return { verdict: "diverged", problem, divergedAt: final.lsn, steps, next };
}

/**
 * Returns the first recorded step that the run did not reach, although it has ended or waits
 * elsewhere.
 */
function unreached(session: DrySession, replay: Replay): Divergence | undefined {
  const missing = replay.steps.find(({ reached, withdrawn }) => !reached && !withdrawn);
  // A phase without an outcome does not run, so the steps inside it are not reached.
  if (!missing || session.stops.some(({ kind }) => kind === "phase")) return undefined;
  return { recorded: missing.place, asked: undefined, stalled: !session.outcome };
}

/** Returns how the run ended differently from the record, or undefined if it ended the same way. */
function differentEnd(
  session: DrySession,
  final: ToolSessionEvent,
  next: Verdict["next"],
): string | undefined {
  // The code did not end this call: a timeout or another party did.
  if (final.type === "cancelled") return undefined;
  const { outcome } = session;
  if (!outcome) {
    const [first] = next;
    const what = typeof first === "object" ? `${first.kind} "${first.key}"` : "something";
    return `the call had ended, but the tool goes on with ${what}`;
  }
  const before = final.type === "result" ? final.result : final.type === "error" && final.error;
  const now = outcome.status === "completed"
    ? outcome.result
    : outcome.status === "failed" && outcome.error;
  const isSame = JSON.stringify(before) === JSON.stringify(now);
  return isSame ? undefined : "the call had ended with another result or error";
}

/** The steps and questions that the run began after the end of the record. */
function nextOf(session: DrySession, lastLSN: number): (Place | "result" | "error")[] {
  const next: (Place | "result" | "error")[] = [];
  for (const event of session.log.after(lastLSN)) {
    if (event.type === "result" || event.type === "error") next.push(event.type);
    else if ("place" in event && event.type !== "fact") next.push(event.place);
  }
  // A step that began before the end of the record would run again.
  for (const place of session.stops) if (!next.includes(place)) next.push(place);
  return next;
}

function versionsOf({ version, definition }: RecordedCall): Pick<DryReplay, "versions"> {
  const loaded = definition.durable?.version;
  if (version === loaded) return {};
  return {
    versions: {
      ...(version !== undefined && { recorded: version }),
      ...(loaded !== undefined && { loaded }),
    },
  };
}
