/**
 * Replays a log: a tool that runs again gets the outcomes that were recorded.
 *
 * Every question and every recorded fact has a place: its branch, its kind, its key, and how many
 * with the same kind and key came before it in that branch. In a replay, each branch must do the
 * same steps in the same order. The order between branches does not matter.
 *
 * REPLAY-1  Outcomes are delivered in the order in which they were recorded. An outcome is
 *           delivered only when the replay has reached every step that was recorded before it. So a
 *           race has the same contenders and the same winner.
 * REPLAY-2  A question after the last recorded step of its branch is new, and is sent.
 * REPLAY-3  If a branch does a different step from the recorded one, it diverges, and the session
 *           fails.
 * REPLAY-4  A phase with a recorded outcome does not run again.
 */
import { type How, howOf } from "../ask/ask.ts";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type {
  ClientAnswer,
  Door,
  FactEvent,
  Place,
  ToolSessionEvent,
  ToolSessionRequest,
} from "../model/events.ts";
import { phasePath } from "../run/branch.ts";
import type { HaltReason } from "./ending.ts";

/** The recorded outcome of a step. */
export type Recorded =
  | (
    & { readonly type: "answered"; readonly response: ClientAnswer; readonly sealed?: string }
    & How
  )
  | { readonly type: "timeout" }
  | { readonly type: "fact"; readonly fact: FactEvent };

/** One recorded step: a question, a fact, a phase or a sleep, with its outcome if it has one. */
export interface Step {
  readonly place: Place;
  /** The LSN of the event that began the step. */
  readonly lsn: number;
  readonly request?: ToolSessionRequest;
  /** When a sleep ends, in milliseconds since the epoch. */
  readonly until?: number;
  /** The outcome. Outcomes are delivered in the order of their LSNs (REPLAY-1). */
  outcome: { readonly lsn: number; readonly recorded: Recorded } | undefined;
  /**
   * True if the question was withdrawn because its branch was halted. A replay halts the branch
   * again.
   */
  withdrawn: boolean;
  /** True if the replay has reached this step. */
  reached: boolean;
  /**
   * True while an early answer is being recorded: it came before the replay reached its question.
   */
  answering?: boolean;
}

/** The difference between the step that is recorded and the step that the tool did (REPLAY-3). */
export interface Divergence {
  readonly recorded: Place | undefined;
  readonly asked: Place | undefined;
  /** True if the tool has not ended, but does not reach the recorded step. */
  readonly stalled?: boolean;
}

/** The recorded steps of one branch, and the index of the next step to reach. */
interface Course {
  readonly steps: Step[];
  next: number;
}

export class Replay {
  readonly #courses = new Map<string, Course>();
  /**
   * For each branch, the number of recorded messages, such as progress, that the replay must not
   * send again.
   */
  readonly #told = new Map<string, number>();
  /** All steps in order. The replay has reached the first `#reached` of them. */
  #steps: Step[] = [];
  #reached = 0;
  /** The LSNs of all outcomes, in order. The first `#delivered` of them have been delivered. */
  #due: number[] = [];
  #delivered = 0;
  /** Recorded open questions that the replay has not reached, by their ids. */
  readonly #unasked = new Map<string, Step>();
  /** The LSN for the next outcome that is recorded during the replay. */
  #nextLSN: number;
  /** Why the run was being halted when its process died. Undefined if it was not being halted. */
  readonly cancelling: HaltReason | undefined;
  readonly #waiting = new Map<number, () => void>();
  /** The highest number and all names of the recorded questions. */
  readonly lastSeq: number;
  readonly names: ReadonlySet<string>;

  constructor(events: readonly ToolSessionEvent[]) {
    const byRequest = new Map<string, Step>();
    const begun = new Map<string, Step>();
    const names = new Set<string>();
    let lastSeq = 0;
    this.#nextLSN = (events.at(-1)?.lsn ?? 0) + 1;
    for (const event of events) {
      switch (event.type) {
        case "cancelling":
          this.cancelling = { reason: event.reason, by: event.by };
          break;
        case "elicit_request":
        case "sample_request":
        case "roots_request": {
          const { lsn: _lsn, ...request } = event;
          byRequest.set(event.id, this.#begin({ place: event.place, lsn: event.lsn, request }));
          names.add(event.name);
          lastSeq = Math.max(lastSeq, Number(event.id.slice(event.id.lastIndexOf("_") + 1)));
          break;
        }
        case "answer": {
          const { response, sealed, lsn } = event;
          const recorded: Recorded = {
            type: "answered",
            response,
            ...(sealed !== undefined && { sealed }),
            ...howOf(event),
          };
          this.#settle(byRequest.get(event.requestId), lsn, recorded);
          break;
        }
        case "withdrawn":
          if (event.reason === "timeout") {
            this.#settle(byRequest.get(event.requestId), event.lsn, { type: "timeout" });
          } else {
            const step = byRequest.get(event.requestId);
            if (step) step.withdrawn = true;
          }
          break;
        case "begun": {
          const { place, lsn, until } = event;
          const step = this.#begin({ place, lsn, ...(until !== undefined && { until }) });
          begun.set(keyOf(place), step);
          break;
        }
        case "fact": {
          // A value has no `begun` event. All other facts have one.
          const { place, lsn } = event;
          const step = begun.get(keyOf(place)) ?? this.#begin({ place, lsn });
          this.#settle(step, lsn, { type: "fact", fact: event });
          if (place.kind === "phase") this.#leaveOut(phasePath(place.key));
          break;
        }
        case "progress":
        case "log":
        case "elicit_complete":
        case "task_started": {
          const branch = "branch" in event ? event.branch ?? "" : "";
          this.#told.set(branch, (this.#told.get(branch) ?? 0) + 1);
          break;
        }
      }
    }
    this.lastSeq = lastSeq;
    this.names = names;
    for (const [id, step] of byRequest) {
      if (!step.outcome && !step.withdrawn) this.#unasked.set(id, step);
    }
  }

  /** Returns the recorded open questions that the replay has not reached. */
  unasked(): ToolSessionRequest[] {
    return [...this.#unasked.values()].filter(({ answering }) => !answering)
      .map(({ request }) => request!);
  }

  /**
   * Returns an open question that the replay has not reached, unless an answer to it is being
   * recorded.
   */
  unaskedRequest(id: string): ToolSessionRequest | undefined {
    const step = this.#unasked.get(id);
    return step?.answering ? undefined : step?.request;
  }

  /** Notes that an answer is being recorded to a question that the replay has not reached. */
  expectAnswer(requestId: string): void {
    this.#unasked.get(requestId)!.answering = true;
  }

  /** Adds an answer, which has just been recorded, to the replay. */
  answered(requestId: string, response: ClientAnswer, how: How): void {
    const step = this.#unasked.get(requestId);
    if (!step) return;
    this.#unasked.delete(requestId);
    this.#settle(step, this.#nextLSN++, { type: "answered", response, ...how });
  }

  /** The recorded steps in order, except those inside a phase that has an outcome. */
  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** A number that changes with every step that is reached and every outcome that is delivered. */
  get progress(): number {
    return this.#reached + this.#delivered + this.#waiting.size;
  }

  /** The first step that the replay has not reached. Later outcomes wait for it. */
  get missing(): Place | undefined {
    return this.#steps[this.#reached]?.place;
  }

  /** True if all recorded outcomes have been delivered. */
  get done(): boolean {
    return this.#delivered === this.#due.length;
  }

  /** Returns the next recorded step of a branch, if that step is a question. */
  nextRequest(branch: string): ToolSessionRequest | undefined {
    return this.nextStep(branch)?.request;
  }

  /** Returns the next recorded step of a branch. Does not advance the branch. */
  nextStep(branch: string): Step | undefined {
    const course = this.#courses.get(branch);
    return course?.steps[course.next];
  }

  /**
   * Returns the recorded door if the next step of a branch is this question, null if it is another
   * step, and undefined after the last step.
   */
  doorOf(branch: string, key: string, moved: boolean): Door | null | undefined {
    const step = this.nextStep(branch);
    if (!step) return undefined;
    const { request, place } = step;
    if (request?.type !== "elicit_request" || place.kind !== "elicit") return null;
    return place.key === key && (request.moved ?? false) === moved ? request.door ?? "form" : null;
  }

  /**
   * Advances a branch to its next step. Returns the recorded step, undefined if the step is new
   * (REPLAY-2), or the divergence (REPLAY-3).
   */
  take(place: Place): Step | undefined | Divergence {
    const course = this.#courses.get(place.branch);
    const step = course?.steps[course.next];
    if (!step) return undefined;
    const same = step.place.kind === place.kind && step.place.key === place.key;
    if (!same) return { recorded: step.place, asked: place };
    course!.next++;
    step.reached = true;
    if (step.request && !step.outcome) this.#unasked.delete(step.request.id);
    while (this.#steps[this.#reached]?.reached) this.#reached++;
    this.#skipGone();
    this.#deliverSoon();
    return step;
  }

  /** Delivers this outcome immediately if it is the next one. Returns true if it was delivered. */
  now({ lsn }: { readonly lsn: number }): boolean {
    if (this.#due[this.#delivered] !== lsn || this.#isMissing(lsn)) return false;
    this.#delivered++;
    this.#deliverSoon();
    return true;
  }

  /** Calls `deliver` when this outcome is the next one (REPLAY-1). The call may be synchronous. */
  await({ lsn }: { readonly lsn: number }, deliver: () => void): () => void {
    this.#waiting.set(lsn, deliver);
    if (this.#next() === lsn) this.#deliver(lsn);
    else this.#deliverSoon();
    return () => {
      // The code that waited for this outcome was halted, as in the first run. Later outcomes need
      // not wait.
      if (this.#waiting.has(lsn)) this.#waiting.set(lsn, GONE);
      this.#skipGone();
      this.#deliverSoon();
    };
  }

  /** Returns true if the first run has already sent the next message of this branch. */
  alreadyTold(branch: string): boolean {
    const left = this.#told.get(branch) ?? 0;
    if (left === 0) return false;
    this.#told.set(branch, left - 1);
    return true;
  }

  /** Returns the divergence if the tool has ended without reaching a recorded step (REPLAY-3). */
  leftOut(): Divergence | undefined {
    for (const { steps, next } of this.#courses.values()) {
      const step = steps[next];
      if (step?.outcome) return { recorded: step.place, asked: undefined };
    }
    return undefined;
  }

  #begin(begun: Omit<Step, "outcome" | "withdrawn" | "reached">): Step {
    const step: Step = { ...begun, outcome: undefined, withdrawn: false, reached: false };
    this.#steps.push(step);
    const { branch } = begun.place;
    const course = this.#courses.get(branch);
    if (course) course.steps.push(step);
    else this.#courses.set(branch, { steps: [step], next: 0 });
    return step;
  }

  #settle(step: Step | undefined, lsn: number, recorded: Recorded): void {
    if (!step || step.outcome) return;
    step.outcome = { lsn, recorded };
    this.#due.push(lsn);
  }

  /** Removes the steps inside a phase that has an outcome (REPLAY-4). */
  #leaveOut(branch: string): void {
    const within = new Set(this.#courses.get(branch)?.steps);
    const outcomes = new Set([...within].map(({ outcome }) => outcome?.lsn));
    this.#steps = this.#steps.filter((step) => !within.has(step));
    this.#due = this.#due.filter((lsn) => !outcomes.has(lsn));
    this.#courses.delete(branch);
  }

  /**
   * Delivers the outcomes that are next, but not from inside a step of the tool: the loser of a
   * race must be halted before it could receive its outcome (REPLAY-1).
   */
  #deliverSoon(): void {
    queueMicrotask(() => {
      for (let lsn = this.#next(); lsn !== undefined; lsn = this.#next()) this.#deliver(lsn);
    });
  }

  /**
   * Returns the LSN of the next outcome, if the tool waits for it and no earlier step is missing.
   */
  #next(): number | undefined {
    const lsn = this.#due[this.#delivered];
    if (lsn === undefined || !this.#waiting.has(lsn)) return undefined;
    return this.#isMissing(lsn) ? undefined : lsn;
  }

  /** Returns true if the replay has not reached a step that began before this LSN. */
  #isMissing(lsn: number): boolean {
    const missing = this.#steps[this.#reached];
    return missing !== undefined && missing.lsn < lsn;
  }

  #deliver(lsn: number): void {
    const deliver = this.#waiting.get(lsn)!;
    this.#waiting.delete(lsn);
    this.#delivered++;
    deliver();
    this.#skipGone();
  }

  #skipGone(): void {
    const lsn = this.#next();
    if (lsn !== undefined && this.#waiting.get(lsn) === GONE) this.#deliver(lsn);
  }
}

/** Marks an outcome for which no code waits any more. */
const GONE = () => {};

function keyOf({ branch, kind, key, count }: Place): string {
  return JSON.stringify([branch, kind, key, count]);
}

/** Describes a divergence: the recorded step, and the step that the tool did instead. */
export function describeDivergence({ recorded, asked, stalled }: Divergence): string {
  if (stalled) {
    return `${
      recorded ? asText(recorded) : "something"
    } was recorded, but the tool does not reach it`;
  }
  if (!asked) return `${asText(recorded!)} was recorded, but the tool ended without it`;
  if (!recorded) return `${asText(asked)} was never recorded`;
  return `${asText(recorded)} was recorded, but ${asText(asked)} was asked`;
}

function asText({ branch, kind, key, count }: Place): string {
  const nth = count > 0 ? ` (number ${count + 1})` : "";
  return `${kind} "${key}"${nth}${branch ? ` in branch ${branch}` : ""}`;
}

/** The number of milliseconds without progress after which a replay counts as stalled. */
const REPLAY_TIMEOUT = 5 * 60_000;

/** Calls `stuck` when a replay is stalled. Returns a function that stops watching. */
export function watchReplay(
  replay: Replay,
  deadlines: Deadlines,
  stuck: (divergence: Divergence) => void,
): () => void {
  let deadline: Deadline | undefined;
  const watch = () => {
    if (replay.done) return;
    const before = replay.progress;
    deadline = deadlines.add(REPLAY_TIMEOUT, () => {
      if (replay.progress !== before) return watch();
      if (!replay.done) stuck({ recorded: replay.missing, asked: undefined, stalled: true });
    });
  };
  watch();
  return () => deadline?.cancel();
}
