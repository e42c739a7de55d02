/**
 * `parley.calls`. The code that lists, shows and changes calls is loaded on first use.
 *
 * CALLS-1  There is no second copy of state. Each result is computed on request, from the sessions
 *          in memory and from the store.
 * CALLS-2  While nobody watches, a call costs nothing more: `tell` is called only if `watched` is
 *          true.
 */
import type { Operation } from "effection";
import { promised } from "../lib/strand.ts";
import type {
  CallChange,
  CallDetail,
  CallEvents,
  CallEventWindow,
  CallFilter,
  CallPage,
  CallState,
  DryReplay,
  OperatorAnswer,
} from "../model/calls.ts";
import type { AnswerOutcome } from "../model/events.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { OperatorCalls } from "../session/types.ts";
import type { CallDesk } from "./call-desk.ts";
import type { RegistryParts } from "./parts.ts";
import type { LiveToolSessionRegistry } from "./registry.ts";

type Watcher = (session: LiveToolSession) => void;

export class RegistryCalls implements OperatorCalls {
  readonly #registry: LiveToolSessionRegistry;
  readonly #parts: RegistryParts;
  readonly #finished: ReadonlyMap<string, LiveToolSession>;
  #desk: Promise<CallDesk> | undefined;
  readonly #watchers = new Set<Watcher>();
  /** The functions that end the watches when the registry closes. */
  readonly #ends = new Set<() => void>();
  /** True if somebody watches (CALLS-2). */
  readonly watched: boolean = false;

  constructor(
    registry: LiveToolSessionRegistry,
    parts: RegistryParts,
    finished: ReadonlyMap<string, LiveToolSession>,
  ) {
    this.#registry = registry;
    this.#parts = parts;
    this.#finished = finished;
  }

  list(filter: CallFilter = {}): Promise<CallPage> {
    return this.#run((desk) => desk.list(filter));
  }

  get(id: string): Promise<CallDetail | undefined> {
    return this.#run((desk) => desk.get(id));
  }

  events(id: string, window: CallEventWindow = {}): Promise<CallEvents | undefined> {
    return this.#run((desk) => desk.events(id, window));
  }

  answer(id: string, question: string, answer: OperatorAnswer): Promise<AnswerOutcome> {
    return this.#run((desk) => desk.answer(id, question, answer));
  }

  cancel(id: string, reason = "cancelled by the operator"): Promise<boolean> {
    return this.#run((desk) => desk.cancel(id, reason));
  }

  revive(id: string): Promise<boolean> {
    return this.#registry.setAside.revive(id);
  }

  replay(id: string): Promise<DryReplay> {
    return this.#run((desk) => desk.replay(id));
  }

  watch(id?: string): AsyncIterableIterator<CallChange, undefined> {
    return new Watch(this, id);
  }

  /** Tells the watchers that a session has changed. Called only if `watched` is true. */
  tell(session: LiveToolSession): void {
    this.#tellNow(session);
    // Report another change when the event is recorded, because it becomes visible only then.
    session.log.whenRecorded()?.then(() => this.#tellNow(session));
  }

  #tellNow(session: LiveToolSession): void {
    for (const watcher of this.#watchers) watcher(session);
  }

  /** Adds a watcher. Returns a function that removes it. `end` is called when the registry closes. */
  addWatcher(watcher: Watcher, end: () => void): () => void {
    const own: { watched: boolean } = this;
    if (this.#parts.live.isClosed) {
      end();
      return () => {};
    }
    this.#watchers.add(watcher);
    this.#ends.add(end);
    own.watched = true;
    return () => {
      this.#watchers.delete(watcher);
      this.#ends.delete(end);
      own.watched = this.#watchers.size > 0;
    };
  }

  /** Returns a session in memory. */
  find(id: string): LiveToolSession | undefined {
    return this.#registry.find(id);
  }

  /** Ends all watches. */
  close(): void {
    for (const end of [...this.#ends]) end();
  }

  async #run<T>(operation: (desk: CallDesk) => Operation<T>): Promise<T> {
    // CALLS-1: the desk has no state of its own.
    this.#desk ??= import("./call-desk.ts").then(({ CallDesk }) =>
      new CallDesk(this.#registry, this.#parts, this.#finished)
    );
    const desk = await this.#desk;
    this.#parts.live.checkOpen();
    return await promised(this.#parts.scope, () => operation(desk));
  }
}

/** Returns the state of a session in memory. */
export function liveState(session: LiveToolSession): CallState {
  if (session.outcome) return session.outcome.status;
  return session.waiting ? "waiting" : "running";
}

/**
 * The changes of one call, or of all. A reader that is slow gets only the last change of each call.
 * The watch ends with `return`, or when the registry closes.
 */
class Watch implements AsyncIterableIterator<CallChange, undefined> {
  readonly #calls: RegistryCalls;
  readonly #id: string | undefined;
  /** The sessions that have changed since the last `next`, by id. */
  readonly #changed = new Map<string, LiveToolSession>();
  readonly #stop: (() => void) | undefined;
  /** The session whose log is watched. Only for a watch of one call. */
  #session: LiveToolSession | undefined;
  #unwatch: (() => void) | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(calls: RegistryCalls, id: string | undefined) {
    this.#calls = calls;
    this.#id = id;
    this.#stop = calls.addWatcher((session) => this.#see(session), () => this.#end());
    const session = id === undefined ? undefined : calls.find(id);
    if (!session) return;
    this.#follow(session);
    session.log.whenRecorded()?.then(() => this.#see(session));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<CallChange, undefined>> {
    while (!this.#isOver && this.#changed.size === 0) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const [first] = this.#changed.values();
    if (this.#isOver || !first) return { done: true, value: undefined };
    this.#changed.delete(first.id);
    const { id, toolName: tool, log: { lastLSN } } = first;
    return { done: false, value: { id, tool, state: liveState(first), lastLSN } };
  }

  return(): Promise<IteratorResult<CallChange, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #see(session: LiveToolSession): void {
    if (this.#isOver || this.#id !== undefined && session.id !== this.#id) return;
    if (this.#id !== undefined) this.#follow(session);
    this.#note(session);
  }

  /**
   * Also watches the log of the call, because some events change nothing but the log. A session that
   * only waits has no such events, and its watcher must not keep it in memory.
   */
  #follow(session: LiveToolSession): void {
    const isIdle = session.waiting && !session.concurrent;
    if (!isIdle && this.#session === session) return;
    this.#unwatch?.();
    this.#session = isIdle ? undefined : session;
    this.#unwatch = isIdle ? undefined : session.log.watch(() => this.#note(session));
  }

  #note(session: LiveToolSession): void {
    this.#changed.set(session.id, session);
    this.#wake?.();
    this.#wake = undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#stop?.();
    this.#unwatch?.();
    this.#session = undefined;
    this.#changed.clear();
    this.#wake?.();
  }
}
