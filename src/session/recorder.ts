/**
 * Records what a durable tool does besides asking, so that it is not done again
 * when the tool is run again. For any other tool it records nothing, and costs
 * nothing.
 */
import type { Buffer } from "node:buffer";
import { action, type Operation, suspend } from "effection";
import { deadline } from "../lib/deadlines.ts";
import { nodeCrypto } from "../lib/sealer.ts";
import { ProtocolError, SessionHaltedError, ToolError } from "../model/errors.ts";
import type { BegunEvent, FactEvent, Place } from "../model/events.ts";
import { INTERNAL_ERROR } from "../model/rpc-codes.ts";
import type { Step } from "./replay.ts";
import type { LiveToolSession } from "./tool-session.ts";

export class Recorder {
  readonly #session: LiveToolSession;
  /** Values that the tool has, and the record has not. */
  #unrecorded = 0;
  /** The step whose body is on the stack. */
  #inside: string | undefined;
  /** Steps that have begun and have not come out. */
  #working = 0;
  /** When each sleep that it is in is over. */
  #sleeps: readonly number[] = NONE;

  constructor(session: LiveToolSession) {
    this.#session = session;
  }

  /** True while a step is being done: it would have to be done again if it were stopped. */
  get working(): boolean {
    return this.#working > 0;
  }

  /** True while the body of a step is on the stack. */
  get isInside(): boolean {
    return this.#inside !== undefined;
  }

  askedNext(branch: string, key: string, start: string): boolean {
    const request = this.#session.replay?.nextRequest(branch);
    return request?.type === "elicit_request" && request.place.key === key &&
      request.params.message.startsWith(start);
  }

  /** When the first sleep that it is in is over. */
  get nextWake(): number | undefined {
    return this.#sleeps.length === 0 ? undefined : Math.min(...this.#sleeps);
  }

  /**
   * Does something once. It is done again only if the process died after it was
   * done and before that was recorded, and then with the same key.
   */
  *step<T>(place: Place, run: (key: string) => Operation<T>): Operation<T> {
    const session = this.#session;
    const key = `${session.id}:${place.branch}:${place.key}:${place.count}`;
    if (!session.durable) return yield* run(key);
    this.refuseInside(`do "${place.key}"`);
    this.#refuseWhileHalting(place);
    const before = yield* this.#before(place);
    if (before?.outcome) return (yield* this.#outcome(before)) as T;
    // A phase may wait for answers; a step never does.
    const working = place.kind === "step" ? 1 : 0;
    let outcome: FactEvent["outcome"];
    let thrown: unknown;
    // Before it is recorded that it has begun: with that goes when to wake.
    this.#working += working;
    try {
      if (!before) yield* this.#begin(place);
      const body = working ? this.#within(place.key, () => run(key)) : run(key);
      outcome = { ok: true, value: asJson(yield* body) };
    } catch (error) {
      thrown = error;
      outcome = { ok: false, error: recordable(error) };
    } finally {
      this.#working -= working;
    }
    // A halt that had to clean up looks like an ordinary end from here.
    this.#refuseWhileHalting(place);
    yield* this.#commit({ type: "fact", place, outcome });
    // What waits beside it may leave memory from now on.
    if (working) session.changed();
    if (outcome.ok) return outcome.value as T;
    throw thrown;
  }

  /** A value that would be another one the next time. */
  *value<T>(place: Place, make: (drawn?: Buffer) => T): Operation<T> {
    const session = this.#session;
    if (!session.durable) return make();
    this.refuseInside(`record "${place.key}"`);
    const before = yield* this.#before(place);
    if (before?.outcome) {
      // It did not wait the first time either.
      if (session.replay!.now(before.outcome)) return valueOf(before) as T;
      return (yield* this.#outcome(before)) as T;
    }
    const value = make(session.seed === undefined ? undefined : drawnAt(session.seed, place));
    if (session.halting) return value;
    this.#unrecorded++;
    session.log.append({ type: "fact", place, outcome: { ok: true, value } }, () => {
      this.#unrecorded--;
    });
    return value;
  }

  /** Waits, also across restarts: what counts is when it is over. */
  *sleep(place: Place, ms: number): Operation<void> {
    const session = this.#session;
    if (!session.durable) return void (yield* deadline(session.deadlines, ms));
    this.refuseInside("sleep");
    this.#refuseWhileHalting(place);
    const before = yield* this.#before(place);
    if (before?.outcome) return void (yield* this.#outcome(before));
    const until = before?.until ?? session.deadlines.now() + ms;
    // Before it is recorded: with the record goes when to wake.
    this.#sleeps = [...this.#sleeps, until];
    try {
      if (!before) session.log.append({ type: "begun", place, until });
      session.changed();
      // Also one that is over: in a race, what is on record comes first.
      yield* deadline(session.deadlines, Math.max(0, until - session.deadlines.now()));
    } finally {
      const over = this.#sleeps.indexOf(until);
      this.#sleeps = this.#sleeps.filter((_, i) => i !== over);
    }
    this.#refuseWhileHalting(place);
    session.changed();
    yield* this.#commit({ type: "fact", place, outcome: { ok: true } });
  }

  /**
   * What is done with a value cannot be taken back, and after a restart it would be
   * done with another one, unless that value is on record before.
   */
  *#begin(place: Place): Operation<void> {
    if (this.#unrecorded === 0) return void this.#session.log.append({ type: "begun", place });
    yield* this.#commit({ type: "begun", place });
    this.#refuseWhileHalting(place);
  }

  /**
   * A step is recorded as a whole: what it did inside would be missing when the tool
   * is run again, since its body is not.
   */
  refuseInside(what: string): void {
    if (this.#inside === undefined) return;
    throw new TypeError(
      `Cannot ${what} inside step "${this.#inside}": a step is recorded as a whole; do it beside the step`,
    );
  }

  /** An operation that knows, whenever it is at work, that it is the body of a step. */
  #within<T>(name: string, body: () => Operation<T>): Operation<T> {
    const inside = <R>(work: () => R): R => {
      const outer = this.#inside;
      this.#inside = name;
      try {
        return work();
      } finally {
        this.#inside = outer;
      }
    };
    return {
      [Symbol.iterator]: () => {
        const steps = inside(() => body()[Symbol.iterator]());
        return {
          next: (value) => inside(() => steps.next(value)),
          throw: (error) =>
            inside(() => {
              if (!steps.throw) throw error;
              return steps.throw(error);
            }),
          return: (value) =>
            inside(() => steps.return ? steps.return(value) : { done: true, value: value as T }),
        };
      },
    };
  }

  *#before(place: Place): Operation<Step | undefined> {
    const before = this.#session.replay?.take(place);
    if (!before || !("asked" in before)) return before;
    this.#session.diverged(before);
    // The run is being halted; nothing may happen past this point.
    yield* suspend();
    return undefined;
  }

  /** What came out of it before, when it is its turn. */
  *#outcome(step: Step): Operation<unknown> {
    yield* action<void>((resolve) => this.#session.replay!.await(step.outcome!, resolve));
    return valueOf(step);
  }

  #commit(fact: FactEvent | BegunEvent): Operation<void> {
    return action<void>((resolve) => {
      this.#session.log.append(fact, resolve);
      return () => {};
    });
  }

  #refuseWhileHalting({ key }: Place): void {
    if (this.#session.halting) throw new SessionHaltedError(this.#session.id, `do "${key}"`);
  }
}

const NONE: readonly number[] = [];

/** What came out of a step, or throws what it threw. */
function valueOf({ outcome }: Step): unknown {
  const { outcome: fact } = (outcome!.recorded as { fact: FactEvent }).fact;
  if (fact.ok) return fact.value;
  throw recreated(fact.error);
}

/** What will be there when it is read again, so that the first run sees the same. */
function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

type RecordedError = Extract<FactEvent["outcome"], { ok: false }>["error"];

function recordable(error: unknown): RecordedError {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message } = error;
  if (!(error instanceof ProtocolError)) return { name, message };
  return { name, message, rpcCode: error.rpcCode, data: asJson(error.data) };
}

/** The errors that decide who hears of them come back as what they were. */
function recreated({ name, message, rpcCode, data }: RecordedError): Error {
  if (name === "ProtocolError") return new ProtocolError(rpcCode ?? INTERNAL_ERROR, message, data);
  if (name === "ToolError") return new ToolError(message);
  return Object.assign(new Error(message), { name });
}

/** 32 bytes that follow from the seed and the place, and that nobody can tell without the seed. */
export function drawnAt(seed: string, { branch, kind, key, count }: Place): Buffer {
  const place = JSON.stringify([branch, kind, key, count]);
  return nodeCrypto().createHmac("sha256", `parley values\0${seed}`).update(place).digest();
}
