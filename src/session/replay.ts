/**
 * What a log tells about a run that has to be run again.
 *
 * Every question and every recorded fact has a place: its branch, its kind, its
 * key, and how many of these came before it there. When the tool is run again,
 * each branch must ask the same in the same order as it did before; how branches
 * interleave does not matter.
 *
 * P1  What was answered, recorded or timed out is handed out in the order in which
 *     that happened, each as soon as everything that had been asked by then has been
 *     asked again. So a race is won by the same runner, among the same runners.
 * P2  Past the last record of its branch, a question is a new one.
 * P3  A branch that asks something else than it did is a divergence.
 * P4  A phase that has come out is not run again, nor is anything that happened within it.
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

/** How something that the tool waited for came out. */
export type Recorded =
  | { readonly type: "answered"; readonly response: ClientAnswer; readonly sealed?: string }
  | { readonly type: "timeout" }
  | { readonly type: "fact"; readonly fact: FactEvent };

/** One thing that the tool asked or did, and how it came out, if it did. */
export interface Step {
  readonly place: Place;
  /** When it was asked or begun. */
  readonly lsn: number;
  readonly request?: ToolSessionRequest;
  /** When a sleep is over, in milliseconds since the epoch. */
  readonly until?: number;
  /** The LSN of the outcome; it is handed out in that order. */
  outcome: { readonly lsn: number; readonly recorded: Recorded } | undefined;
  /** It was taken back because its branch was halted, and the branch will be halted again. */
  withdrawn: boolean;
  /** It has been asked again. */
  again: boolean;
  /** Its answer came before it was asked again, and is being recorded. */
  answering?: boolean;
}

/** The tool asks something else than it did. */
export interface Divergence {
  readonly recorded: Place | undefined;
  readonly asked: Place | undefined;
  /** It has not ended, but does not come to it either. */
  readonly stalled?: boolean;
}

interface Course {
  readonly steps: Step[];
  next: number;
}

export class Replay {
  readonly #courses = new Map<string, Course>();
  /** Progress and log messages that were sent, by branch; they are not sent again. */
  readonly #told = new Map<string, number>();
  /** Everything that was asked or begun, in order, and how far all of it has been again. */
  #steps: Step[] = [];
  #again = 0;
  /** The LSNs of all outcomes, in order. */
  #due: number[] = [];
  #delivered = 0;
  /** Questions on record that wait for an answer and have not been asked again, by their ids. */
  readonly #unasked = new Map<string, Step>();
  /** The number of the next outcome that is none of the record's. */
  #nextLSN: number;
  /** Why the run was being halted when its server died, if it was. */
  readonly cancelling: HaltReason | undefined;
  readonly #waiting = new Map<number, () => void>();
  /** The highest number that a question was given, and all names that are taken. */
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
          // A value is there at once; everything else has begun before.
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

  /** Questions that wait for an answer and that the tool has not come to again. */
  unasked(): ToolSessionRequest[] {
    return [...this.#unasked.values()].filter(({ answering }) => !answering)
      .map(({ request }) => request!);
  }

  /** The one with an id, unless an answer to it is on its way. */
  unaskedRequest(id: string): ToolSessionRequest | undefined {
    const step = this.#unasked.get(id);
    return step?.answering ? undefined : step?.request;
  }

  /** An answer to a question is being recorded that the tool has not come to again. */
  expectAnswer(requestId: string): void {
    this.#unasked.get(requestId)!.answering = true;
  }

  /** The answer is recorded. From here on it is part of the record. */
  answered(requestId: string, response: ClientAnswer): void {
    const step = this.#unasked.get(requestId);
    if (!step) return;
    this.#unasked.delete(requestId);
    this.#settle(step, this.#nextLSN++, { type: "answered", response });
  }

  /** Grows with everything that is come to again, or handed out. */
  get progress(): number {
    return this.#again + this.#delivered + this.#waiting.size;
  }

  /** What others wait for, because it came before them. */
  get missing(): Place | undefined {
    return this.#steps[this.#again]?.place;
  }

  /** True once everything on record has been handed out. */
  get done(): boolean {
    return this.#delivered === this.#due.length;
  }

  /** The question that a branch asked next, if that is what it did next. */
  nextRequest(branch: string): ToolSessionRequest | undefined {
    const course = this.#courses.get(branch);
    return course?.steps[course.next]?.request;
  }

  /** Whether this is what a branch asked next, without asking it again. */
  expects(branch: string, kind: Place["kind"], key: string): boolean {
    const course = this.#courses.get(branch);
    const place = course?.steps[course.next]?.place;
    return place?.kind === kind && place.key === key;
  }

  /** What was on record for a question, nothing if it is new, or how it diverges. */
  take(place: Place): Step | undefined | Divergence {
    const course = this.#courses.get(place.branch);
    const step = course?.steps[course.next];
    if (!step) return undefined;
    const same = step.place.kind === place.kind && step.place.key === place.key;
    if (!same) return { recorded: step.place, asked: place };
    course!.next++;
    step.again = true;
    if (step.request && !step.outcome) this.#unasked.delete(step.request.id);
    while (this.#steps[this.#again]?.again) this.#again++;
    this.#skipGone();
    this.#handSoon();
    return step;
  }

  /** Hands this outcome out at once, and says so, if it is its turn. */
  now({ lsn }: { readonly lsn: number }): boolean {
    if (this.#due[this.#delivered] !== lsn || this.#isMissing(lsn)) return false;
    this.#delivered++;
    this.#handSoon();
    return true;
  }

  /** Calls `deliver` when it is this outcome's turn, which may be at once. */
  await({ lsn }: { readonly lsn: number }, deliver: () => void): () => void {
    this.#waiting.set(lsn, deliver);
    if (this.#next() === lsn) this.#deliver(lsn);
    else this.#handSoon();
    return () => {
      // Whoever asked is gone, as it was before; the others need not wait for it.
      if (this.#waiting.has(lsn)) this.#waiting.set(lsn, GONE);
      this.#skipGone();
      this.#handSoon();
    };
  }

  /** True for a message that has been sent already. */
  alreadyTold(branch: string): boolean {
    const left = this.#told.get(branch) ?? 0;
    if (left === 0) return false;
    this.#told.set(branch, left - 1);
    return true;
  }

  /** What the tool should have asked before it ended, if it left something out. */
  leftOut(): Divergence | undefined {
    for (const { steps, next } of this.#courses.values()) {
      const step = steps[next];
      if (step?.outcome) return { recorded: step.place, asked: undefined };
    }
    return undefined;
  }

  #begin(begun: Omit<Step, "outcome" | "withdrawn" | "again">): Step {
    const step: Step = { ...begun, outcome: undefined, withdrawn: false, again: false };
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

  /** Forgets what happened within something that has come out, and so is not run again. */
  #leaveOut(branch: string): void {
    const within = new Set(this.#courses.get(branch)?.steps);
    const outcomes = new Set([...within].map(({ outcome }) => outcome?.lsn));
    this.#steps = this.#steps.filter((step) => !within.has(step));
    this.#due = this.#due.filter((lsn) => !outcomes.has(lsn));
    this.#courses.delete(branch);
  }

  /**
   * Hands out what is due, but never from inside a step of the tool: one who wins
   * a race must have won it before the loser hears anything, as it was before.
   */
  #handSoon(): void {
    queueMicrotask(() => {
      for (let lsn = this.#next(); lsn !== undefined; lsn = this.#next()) this.#deliver(lsn);
    });
  }

  /** The outcome whose turn it is, if somebody waits for it and nobody is missing. */
  #next(): number | undefined {
    const lsn = this.#due[this.#delivered];
    if (lsn === undefined || !this.#waiting.has(lsn)) return undefined;
    return this.#isMissing(lsn) ? undefined : lsn;
  }

  /** True while something that had been asked by then has not been asked again. */
  #isMissing(lsn: number): boolean {
    const missing = this.#steps[this.#again];
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

/** Whoever waited does not any more. */
const GONE = () => {};

function keyOf({ branch, kind, key, count }: Place): string {
  return JSON.stringify([branch, kind, key, count]);
}

/** A divergence in words: where, what was recorded, what was asked. */
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

/** How long a tool may be busy with something that is not on record, before it is given up. */
const REPLAY_TIMEOUT = 5 * 60_000;

/** Calls `stuck` once nothing on record has been come to for long. Returns how to stop that. */
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
