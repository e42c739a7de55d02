/**
 * Replays a log: gives a tool that runs again its recorded outcomes.
 *
 * Every question and every recorded fact has a place: its branch, its kind, its key, and how many
 * with the same key came before it there. In a replay each branch must ask the same things in the
 * same order. How branches interleave does not matter.
 *
 * REPLAY-1  Outcomes are delivered in the order in which they were recorded, each as soon as
 *           everything that had been asked by then has been asked again. So a race has the same
 *           contenders and the same winner.
 * REPLAY-2  After the last record of its branch, a question is new.
 * REPLAY-3  A branch that asks something other than recorded diverges.
 * REPLAY-4  A phase with an outcome is not run again, nor is anything inside it.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type {
  ClientAnswer,
  FactEvent,
  Place,
  ToolSessionEvent,
  ToolSessionRequest,
} from "../model/events.ts";
import { phasePath } from "../run/branch.ts";
import type { HaltReason } from "./ending.ts";

/** The outcome of something that the tool waited for. */
export type Recorded =
  | { readonly type: "answered"; readonly response: ClientAnswer; readonly sealed?: string }
  | { readonly type: "timeout" }
  | { readonly type: "fact"; readonly fact: FactEvent };

/** One thing that the tool asked or did, and its outcome, if there is one. */
export interface Step {
  readonly place: Place;
  /** The LSN at which it was asked or begun. */
  readonly lsn: number;
  readonly request?: ToolSessionRequest;
  /** When a sleep ends, in milliseconds since the epoch. */
  readonly until?: number;
  /** Outcomes are delivered in the order of their LSNs (REPLAY-1). */
  outcome: { readonly lsn: number; readonly recorded: Recorded } | undefined;
  /** The question was withdrawn because its branch was halted. The branch will be halted again. */
  withdrawn: boolean;
  /** The replay has reached this step. */
  reached: boolean;
  /** An answer that came before the replay reached the question is being recorded. */
  answering?: boolean;
}

/** The tool asks something other than recorded (REPLAY-3). */
export interface Divergence {
  readonly recorded: Place | undefined;
  readonly asked: Place | undefined;
  /** The tool has not ended, but does not reach the recorded step either. */
  readonly stalled?: boolean;
}

/** The steps of one branch, and the next one to be reached. */
interface Course {
  readonly steps: Step[];
  next: number;
}

export class Replay {
  readonly #courses = new Map<string, Course>();
  /** How many progress and log messages each branch has sent; they are not sent again. */
  readonly #told = new Map<string, number>();
  /** All steps in order, and how many of them, from the front, the replay has reached. */
  #steps: Step[] = [];
  #reached = 0;
  /** The LSNs of all outcomes, in order. */
  #due: number[] = [];
  #delivered = 0;
  /** Recorded open questions that the replay has not reached, by their ids. */
  readonly #unasked = new Map<string, Step>();
  /** The LSN for the next outcome that comes during the replay. */
  #nextLSN: number;
  /** Why the run was being halted when its process died, if it was. */
  readonly cancelling: HaltReason | undefined;
  readonly #waiting = new Map<number, () => void>();
  /** The highest number of a question, and all names in use. */
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
          // A value has no `begun` event; everything else has one.
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

  /** The recorded open questions that the replay has not reached. */
  unasked(): ToolSessionRequest[] {
    return [...this.#unasked.values()].filter(({ answering }) => !answering)
      .map(({ request }) => request!);
  }

  /** The same, by id, unless an answer is being recorded. */
  unaskedRequest(id: string): ToolSessionRequest | undefined {
    const step = this.#unasked.get(id);
    return step?.answering ? undefined : step?.request;
  }

  /** An answer is being recorded to a question that the replay has not reached. */
  expectAnswer(requestId: string): void {
    this.#unasked.get(requestId)!.answering = true;
  }

  /** Adds an answer that has been recorded to the replay. */
  answered(requestId: string, response: ClientAnswer): void {
    const step = this.#unasked.get(requestId);
    if (!step) return;
    this.#unasked.delete(requestId);
    this.#settle(step, this.#nextLSN++, { type: "answered", response });
  }

  /** Grows with every step that is reached, and every outcome that is delivered. */
  get progress(): number {
    return this.#reached + this.#delivered + this.#waiting.size;
  }

  /** The first step that the replay has not reached; later outcomes wait for it. */
  get missing(): Place | undefined {
    return this.#steps[this.#reached]?.place;
  }

  /** True if all recorded outcomes have been delivered. */
  get done(): boolean {
    return this.#delivered === this.#due.length;
  }

  /** The next recorded step of a branch, if that step is a question. */
  nextRequest(branch: string): ToolSessionRequest | undefined {
    const course = this.#courses.get(branch);
    return course?.steps[course.next]?.request;
  }

  /** Whether this is the next recorded step of a branch. Does not advance the branch. */
  expects(branch: string, kind: Place["kind"], key: string): boolean {
    const course = this.#courses.get(branch);
    const place = course?.steps[course.next]?.place;
    return place?.kind === kind && place.key === key;
  }

  /** Advances a branch. Returns the recorded step, undefined for a new step, or the divergence. */
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

  /** Delivers this outcome immediately if it is next. Returns whether it was delivered. */
  now({ lsn }: { readonly lsn: number }): boolean {
    if (this.#due[this.#delivered] !== lsn || this.#isMissing(lsn)) return false;
    this.#delivered++;
    this.#deliverSoon();
    return true;
  }

  /** Calls `deliver` when this outcome is next, possibly synchronously (REPLAY-1). */
  await({ lsn }: { readonly lsn: number }, deliver: () => void): () => void {
    this.#waiting.set(lsn, deliver);
    if (this.#next() === lsn) this.#deliver(lsn);
    else this.#deliverSoon();
    return () => {
      // The asker is gone, as in the first run. The others need not wait for it.
      if (this.#waiting.has(lsn)) this.#waiting.set(lsn, GONE);
      this.#skipGone();
      this.#deliverSoon();
    };
  }

  /** True for a message that the first run has sent. */
  alreadyTold(branch: string): boolean {
    const left = this.#told.get(branch) ?? 0;
    if (left === 0) return false;
    this.#told.set(branch, left - 1);
    return true;
  }

  /** A recorded step that the tool skipped before it ended, if any (REPLAY-3). */
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
    this.#course(begun.place.branch).steps.push(step);
    return step;
  }

  #course(branch: string): Course {
    let course = this.#courses.get(branch);
    if (!course) this.#courses.set(branch, course = { steps: [], next: 0 });
    return course;
  }

  #settle(step: Step | undefined, lsn: number, recorded: Recorded): void {
    if (!step || step.outcome) return;
    step.outcome = { lsn, recorded };
    this.#due.push(lsn);
  }

  /** Drops the steps inside a phase that has an outcome (REPLAY-4). */
  #leaveOut(branch: string): void {
    const within = new Set(this.#courses.get(branch)?.steps);
    const outcomes = new Set([...within].map(({ outcome }) => outcome?.lsn));
    this.#steps = this.#steps.filter((step) => !within.has(step));
    this.#due = this.#due.filter((lsn) => !outcomes.has(lsn));
    this.#courses.delete(branch);
  }

  /**
   * Delivers the outcomes that are due, but never from inside a step of the tool: the winner of a
   * race must have won before the loser receives anything (REPLAY-1).
   */
  #deliverSoon(): void {
    queueMicrotask(() => {
      for (let lsn = this.#next(); lsn !== undefined; lsn = this.#next()) this.#deliver(lsn);
    });
  }

  /** The next outcome, if the tool waits for it and no earlier step is missing. */
  #next(): number | undefined {
    const lsn = this.#due[this.#delivered];
    if (lsn === undefined || !this.#waiting.has(lsn)) return undefined;
    return this.#isMissing(lsn) ? undefined : lsn;
  }

  /** True while the replay has not reached a step that came before this LSN. */
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

/** Marks an outcome that no code waits for any more. */
const GONE = () => {};

function keyOf({ branch, kind, key, count }: Place): string {
  return JSON.stringify([branch, kind, key, count]);
}

/** Describes a divergence: where it is, what was recorded and what was asked. */
export function describeDivergence({ recorded, asked, stalled }: Divergence): string {
  if (stalled) {
    return `${
      recorded ? asText(recorded) : "something"
    } was recorded, but the tool does not come to it`;
  }
  if (!asked) return `${asText(recorded!)} was recorded, but the tool ended without it`;
  if (!recorded) return `${asText(asked)} was never recorded`;
  return `${asText(recorded)} was recorded, but ${asText(asked)} was asked`;
}

function asText({ branch, kind, key, count }: Place): string {
  const nth = count > 0 ? ` (number ${count + 1})` : "";
  return `${kind} "${key}"${nth}${branch ? ` in branch ${branch}` : ""}`;
}

/** How long a replay may make no progress before it counts as stalled. */
const REPLAY_TIMEOUT = 5 * 60_000;

/** Calls `stuck` once a replay is stalled. Returns a function that stops watching. */
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
