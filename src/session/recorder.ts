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
  /** How many values the tool has received that are not recorded yet. */
  #unrecorded = 0;
  /** The step whose body is on the stack. */
  #inside: string | undefined;
  /** How many steps are running. */
  #working = 0;
  /** When each current sleep ends. */
  #sleeps: readonly number[] = NONE;

  constructor(session: LiveToolSession) {
    this.#session = session;
  }

  /** True while a step runs: if it were stopped now, it would have to run again. */
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

  /** When the next sleep ends. */
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
    // Counted before the first event: the wake-up time is written along with it.
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
    // After a halt with cleanup, the body appears to have ended as usual.
    this.#refuseWhileHalting(place);
    yield* this.#commit({ type: "fact", place, outcome });
    // The session may now leave memory, if its other branches only wait.
    if (working) session.changed();
    if (outcome.ok) return outcome.value as T;
    throw thrown;
  }

  /** Records a value that would differ in another run. */
  *value<T>(place: Place, make: (drawn?: Buffer) => T): Operation<T> {
    const session = this.#session;
    if (!session.durable) return make();
    this.refuseInside(`record "${place.key}"`);
    const before = yield* this.#before(place);
    if (before?.outcome) {
      // The first run did not wait for the value either.
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

  /** Sleeps, also across restarts: the record holds the time at which the sleep ends. */
  *sleep(place: Place, ms: number): Operation<void> {
    const session = this.#session;
    if (!session.durable) return void (yield* deadline(session.deadlines, ms));
    this.refuseInside("sleep");
    this.#refuseWhileHalting(place);
    const before = yield* this.#before(place);
    if (before?.outcome) return void (yield* this.#outcome(before));
    const until = before?.until ?? session.deadlines.now() + ms;
    // Noted before the event: the wake-up time is written along with it.
    this.#sleeps = [...this.#sleeps, until];
    try {
      if (!before) session.log.append({ type: "begun", place, until });
      session.changed();
      // Waits even if the time has passed: in a race, recorded outcomes come first.
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
   * A step may use a value that is not recorded yet. Its effects cannot be undone, and after a
   * restart the value would be another one. So the value is recorded first.
   */
  *#begin(place: Place): Operation<void> {
    if (this.#unrecorded === 0) return void this.#session.log.append({ type: "begun", place });
    yield* this.#commit({ type: "begun", place });
    this.#refuseWhileHalting(place);
  }

  /**
   * Throws inside a step. A step is recorded as a whole, and a replay does not run its body, so
   * anything recorded inside would be missing there.
   */
  refuseInside(what: string): void {
    if (this.#inside === undefined) return;
    throw new TypeError(
      `Cannot ${what} inside step "${this.#inside}": a step is recorded as a whole; do it beside the step`,
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
    // The run is being halted: nothing may happen past this point.
    yield* suspend();
    return undefined;
  }

  /** Waits until a recorded outcome is next in the replay, and returns it. */
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

/** The value as it would be read from the record, so that the first run sees the same. */
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

/** Error classes that decide who receives the error are restored. */
function recreated({ name, message, rpcCode, data }: RecordedError): Error {
  if (name === "ProtocolError") return new ProtocolError(rpcCode ?? INTERNAL_ERROR, message, data);
  if (name === "ToolError") return new ToolError(message);
  return Object.assign(new Error(message), { name });
}

/** Derives 32 bytes from the seed and the place. They are unpredictable without the seed. */
export function drawnAt(seed: string, { branch, kind, key, count }: Place): Buffer {
  const place = JSON.stringify([branch, kind, key, count]);
  return nodeCrypto().createHmac("sha256", `parley values\0${seed}`).update(place).digest();
}
