/**
 * Records the steps, values and sleeps of a durable tool, so that a replay does not repeat them.
 * Records nothing for other tools.
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
  /** The number of values that the tool has received, but that are not recorded yet. */
  #unrecorded = 0;
  /** The name of the step whose body is on the stack. */
  #inside: string | undefined;
  /** The number of steps that are running. */
  #working = 0;
  /** The times at which the current sleeps end. */
  #sleeps: readonly number[] = NONE;

  constructor(session: LiveToolSession) {
    this.#session = session;
  }

  /** True while a step runs. If the session left memory now, the step would have to run again. */
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

  /** The time at which the next sleep ends. Undefined if nothing sleeps. */
  get nextWake(): number | undefined {
    return this.#sleeps.length === 0 ? undefined : Math.min(...this.#sleeps);
  }

  /**
   * Runs a step once. It runs again only if the process died before the outcome was recorded,
   * and then with the same key.
   */
  *step<T>(place: Place, run: (key: string) => Operation<T>): Operation<T> {
    const session = this.#session;
    const key = `${session.id}:${place.branch}:${place.key}:${place.count}`;
    if (!session.durable) return yield* run(key);
    this.refuseInside(`do "${place.key}"`);
    this.#refuseWhileHalting(place);
    const before = yield* this.#before(place);
    if (before?.outcome) return (yield* this.#outcome(before)) as T;
    // A phase may wait for answers. A step never does, so it counts as work.
    const working = place.kind === "step" ? 1 : 0;
    let outcome: FactEvent["outcome"];
    let thrown: unknown;
    // Change this before the first event: the event is stored together with the wake-up time, which
    // depends on it.
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
    // A halted body that has cleaned up looks like a body that has ended normally.
    this.#refuseWhileHalting(place);
    yield* this.#commit({ type: "fact", place, outcome });
    // The session may now leave memory, if its other branches only wait.
    if (working) session.changed();
    if (outcome.ok) return outcome.value as T;
    throw thrown;
  }

  /** Returns a value that would differ in another run, such as the time, and records it. */
  *value<T>(place: Place, make: (drawn?: Buffer) => T): Operation<T> {
    const session = this.#session;
    if (!session.durable) return make();
    this.refuseInside(`record "${place.key}"`);
    const before = yield* this.#before(place);
    if (before?.outcome) {
      // Do not wait if possible, because the first run did not wait for the value.
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

  /**
   * Sleeps. The record contains the time at which the sleep ends, so the sleep continues after a
   * restart.
   */
  *sleep(place: Place, ms: number): Operation<void> {
    const session = this.#session;
    if (!session.durable) return void (yield* deadline(session.deadlines, ms));
    this.refuseInside("sleep");
    this.#refuseWhileHalting(place);
    const before = yield* this.#before(place);
    if (before?.outcome) return void (yield* this.#outcome(before));
    const until = before?.until ?? session.deadlines.now() + ms;
    // Change this before the event: the event is stored together with the wake-up time.
    this.#sleeps = [...this.#sleeps, until];
    try {
      if (!before) session.log.append({ type: "begun", place, until });
      session.changed();
      // Wait even if the time has passed, because recorded outcomes must win a race.
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
   * Records the start of a step. Waits until earlier values are recorded: the step may use them,
   * its effects cannot be undone, and after a restart an unrecorded value would be different.
   */
  *#begin(place: Place): Operation<void> {
    if (this.#unrecorded === 0) return void this.#session.log.append({ type: "begun", place });
    yield* this.#commit({ type: "begun", place });
    this.#refuseWhileHalting(place);
  }

  /**
   * Throws if the body of a step is on the stack. A replay does not run the body of a recorded
   * step, so nothing inside a step can be recorded separately.
   */
  refuseInside(what: string): void {
    if (this.#inside === undefined) return;
    throw new TypeError(
      `Cannot ${what} inside step "${this.#inside}": a step is recorded as a whole; do this outside the step`,
    );
  }

  /** Wraps the body of a step, so that `#inside` is set whenever the body is on the stack. */
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
    // The run is being halted, and must not continue past this point.
    yield* suspend();
    return undefined;
  }

  /** Waits until the recorded outcome is the next one to be delivered, and returns it. */
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

/** Returns the value of a recorded step, or throws its error. */
function valueOf({ outcome }: Step): unknown {
  const { outcome: fact } = (outcome!.recorded as { fact: FactEvent }).fact;
  if (fact.ok) return fact.value;
  throw recreated(fact.error);
}

/**
 * Returns the value as a replay would read it from the record, so that the first run gets the same
 * value.
 */
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

/** Creates an error from its record. The class is restored if it decides who receives the error. */
function recreated({ name, message, rpcCode, data }: RecordedError): Error {
  if (name === "ProtocolError") return new ProtocolError(rpcCode ?? INTERNAL_ERROR, message, data);
  if (name === "ToolError") return new ToolError(message);
  return Object.assign(new Error(message), { name });
}

/** Derives 32 bytes from the seed and the place. Nobody can predict them without the seed. */
export function drawnAt(seed: string, { branch, kind, key, count }: Place): Buffer {
  const place = JSON.stringify([branch, kind, key, count]);
  return nodeCrypto().createHmac("sha256", `parley values\0${seed}`).update(place).digest();
}
