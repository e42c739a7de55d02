/**
 * Counts how often a durable session was taken up and the server did not survive it, and sets
 * the session aside after a few times. Otherwise a step that exits or never returns would end
 * the server at every start.
 *
 * RECOVERY-1  Taking a session up raises its epoch. The record says at which epoch the session was
 *             last known to survive (`settled`). The difference is the number of failed attempts,
 *             so an attempt is counted before it runs, without a write of its own.
 * RECOVERY-2  An attempt has survived once the session records an event, waits, leaves memory or
 *             ends, or once it has run for `GRACE`.
 * RECOVERY-3  A session with failed attempts is a suspect. Suspects run one at a time, whoever asks
 *             for them: the next one is taken up when it is on record that the one before survived.
 *             So only the first failed attempt can be another session's fault. It counts all the
 *             same, but no more than once: every later attempt is made in isolation.
 * RECOVERY-4  Suspects with fewer failed attempts go first, and the last attempt is made only after
 *             the server has run for `STEADY_AFTER`. So deaths with another cause spread over the
 *             suspects, and a server that keeps dying early sets none of them aside.
 * RECOVERY-5  After `MOST_ATTEMPTS` failed attempts the session is set aside: it stays on record,
 *             and only an operator can make it run again.
 */
import { action, type Operation } from "effection";
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import { RegistryClosedError, SessionSetAsideError } from "../model/errors.ts";
import { isFinal } from "../model/events.ts";
import type { Fault } from "../run/run-port.ts";
import type { RegisteredSession } from "../session/session-home.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { SetAsideCall, SetAsideCalls } from "../session/types.ts";
import type { ToolSessionEntry, ToolSessionStore } from "../store/types.ts";
import type { EntryMeta } from "./durability.ts";

const MOST_ATTEMPTS = 3;
/** Milliseconds after which an attempt that is still running has survived. */
const GRACE = 5_000;
/** Milliseconds that the server must have run before it makes the last attempt for a suspect. */
const STEADY_AFTER = 5_000;

/** How many are read from the store at once. */
const PAGE = 100;

/** A time to wake that never comes. It marks sessions that are set aside, so that they are found. */
const NEVER = 8_640_000_000_000_000;

export interface RecoveryHome {
  readonly store: ToolSessionStore;
  readonly deadlines: Deadlines;
  run<T>(operation: () => Operation<T>): Promise<T>;
  /** Takes a session up although nobody asks for it. */
  wake(id: string): Promise<void>;
  /** Writes down that a session has survived. */
  survived(session: LiveToolSession): void;
  /** Until when the record of a session is kept that is set aside now. */
  keepUntil(): number;
  report(fault: Fault): void;
}

/** A suspect that waits until it may be taken up. */
interface Turn {
  readonly id: string;
  readonly failed: number;
  begin(): void;
  refuse(error: Error): void;
}

export class Recovery implements SetAsideCalls {
  readonly #home: RecoveryHome;
  readonly #startedAt: number;
  /** Suspects that wait for their turn, in the order in which they came. */
  readonly #turns = new Set<Turn>();
  /** The suspect whose turn it is. */
  #tried: string | undefined;
  /** Its attempt has begun, so that the end of the attempt ends the turn. */
  #hasBegun = false;
  #steady: Deadline | undefined;
  #stopped = false;

  constructor(home: RecoveryHome) {
    this.#home = home;
    this.#startedAt = home.deadlines.now();
  }

  /** Takes up a session whose time has come. Does not wait for the turn of a suspect. */
  async wake(id: string): Promise<void> {
    const entry = await this.#home.run(() => this.#home.store.get(id));
    const woken = this.#home.wake(id);
    if (!entry || failedAttempts(entry) === 0) return await woken;
    woken.catch((error) => this.#failed(id, error));
  }

  /** Refuses the suspects that still wait for their turn. */
  stop(): void {
    this.#stopped = true;
    this.#steady?.cancel();
    for (const turn of [...this.#turns]) turn.refuse(new RegistryClosedError());
  }

  /**
   * Takes a session up with `takeUp`: a suspect in its turn, any other at once.
   * Throws `SessionSetAsideError` for a session that is not run any more.
   */
  *admit(
    entry: ToolSessionEntry,
    takeUp: () => Operation<LiveToolSession | undefined>,
  ): Operation<LiveToolSession | undefined> {
    if (!(yield* this.#isSuspect(entry))) return yield* takeUp();
    yield* this.#turn(entry.id, failedAttempts(entry));
    try {
      // Another server may have tried it meanwhile.
      const latest = yield* this.#home.store.get(entry.id);
      if (!latest) return undefined;
      yield* this.#isSuspect(latest);
      return yield* takeUp();
    } finally {
      if (!this.#hasBegun) this.#turnOver();
    }
  }

  /** Whether a session must be run in isolation. Sets it aside, and throws, if it must not run. */
  *#isSuspect(entry: ToolSessionEntry): Operation<boolean> {
    const { id, toolName } = entry;
    if (metaIn(entry).setAside) throw new SessionSetAsideError(id, toolName);
    const attempts = failedAttempts(entry);
    if (attempts === 0) return false;
    const last = (yield* this.#home.store.read(id)).at(-1);
    // A session that has ended is only read.
    if (last && isFinal(last)) return false;
    if (attempts < MOST_ATTEMPTS) return true;
    yield* this.#change(entry, last?.lsn ?? 0, NEVER, {
      setAside: { at: this.#home.deadlines.now(), attempts },
    });
    const error = new SessionSetAsideError(id, toolName);
    const what =
      `it was set aside: the server did not survive ${attempts} attempts to go on with it`;
    this.#home.report({ what, toolName, sessionId: id, error });
    throw error;
  }

  *#turn(id: string, failed: number): Operation<void> {
    if (this.#stopped) throw new RegistryClosedError();
    yield* action<void>((resolve, reject) => {
      const turn = { id, failed, begin: resolve, refuse: reject };
      this.#turns.add(turn);
      this.#next();
      return () => void this.#turns.delete(turn);
    });
  }

  readonly #turnOver = (): void => {
    this.#tried = undefined;
    this.#hasBegun = false;
    this.#next();
  };

  #next(): void {
    if (this.#tried !== undefined || this.#stopped) return;
    // RECOVERY-4: the first of those with the fewest failed attempts.
    let next: Turn | undefined;
    for (const turn of this.#turns) if (!next || turn.failed < next.failed) next = turn;
    if (!next) return;
    const { deadlines } = this.#home;
    const early = this.#startedAt + STEADY_AFTER - deadlines.now();
    if (next.failed === MOST_ATTEMPTS - 1 && early > 0) {
      this.#steady ??= deadlines.add(Math.min(early, STEADY_AFTER), () => this.#next());
      return;
    }
    this.#tried = next.id;
    this.#turns.delete(next);
    next.begin();
  }

  /** The entry of a session that was just taken up, with a count to go by: older ones have none. */
  *taken(mine: ToolSessionEntry): Operation<ToolSessionEntry> {
    if (metaIn(mine).settled !== undefined) return mine;
    const counted = { ...mine, meta: { ...mine.meta, settled: mine.epoch - 1 } };
    yield* this.#home.store.set(mine.id, counted);
    return counted;
  }

  /** Takes back that it was taken up, because it is not run. */
  *notRun(mine: ToolSessionEntry): Operation<void> {
    const meta = { ...mine.meta, settled: mine.epoch };
    yield* this.#home.store.set(mine.id, { ...mine, meta });
  }

  /** A session that was taken up is about to be run. */
  begin(session: RegisteredSession, mine: ToolSessionEntry): void {
    // Not this attempt, which has been counted already.
    const failed = failedAttempts(mine) - 1;
    const deadline = this.#home.deadlines.add(GRACE, () => this.#home.survived(session));
    if (this.#tried !== session.id) return void (session.trial = { failed, deadline });
    this.#hasBegun = true;
    session.trial = { failed, deadline, over: this.#turnOver };
    const error = new Error(
      `Cannot be sure of this call: ${failed} attempts to go on with it ended the server; it is set aside after ${MOST_ATTEMPTS}`,
    );
    const { toolName, id: sessionId } = session;
    this.#home.report({ what: "it is taken up once more", toolName, sessionId, error });
  }

  /** A suspect that waits has survived. Others need no write for that: they survive with time. */
  looked(session: LiveToolSession): void {
    const { trial, waiting, replay } = session;
    if (trial && trial.failed > 0 && waiting && replay?.done !== false) {
      this.#home.survived(session);
    }
  }

  /** The attempt is over. Returns what to call once that is on record, if anything. */
  over(session: RegisteredSession): (() => void) | undefined {
    const { trial } = session;
    session.trial = undefined;
    trial?.deadline.cancel();
    return trial?.over;
  }

  async list(): Promise<SetAsideCall[]> {
    const { run, store } = this.#home;
    const calls: SetAsideCall[] = [];
    for (let after = { wakeAt: NEVER, id: "" };;) {
      const page = await run(() => store.wakes(PAGE, after));
      for (const { id } of page) {
        const entry = await run(() => store.get(id));
        const { setAside, principal } = entry ? metaIn(entry) : ({} as Partial<EntryMeta>);
        if (!entry || !setAside || principal === undefined) continue;
        const { toolName, createdAt } = entry;
        const { at: setAsideAt, attempts } = setAside;
        calls.push({ sessionId: id, toolName, principal, createdAt, setAsideAt, attempts });
      }
      if (page.length < PAGE) return calls;
      after = page.at(-1)!;
    }
  }

  async revive(sessionId: string): Promise<boolean> {
    const { run, store, deadlines } = this.#home;
    const entry = await run(() => store.get(sessionId));
    const meta = entry && metaIn(entry);
    if (!entry || !meta?.setAside) return false;
    const lsn = (await run(() => store.read(sessionId))).at(-1)?.lsn ?? 0;
    // One that runs only while its client waits for it goes on when that comes back.
    const wakeAt = meta.attended ? null : deadlines.now();
    await run(() =>
      this.#change(entry, lsn, wakeAt, { settled: entry.epoch, setAside: undefined })
    );
    if (!meta.attended) await this.#home.wake(sessionId);
    return true;
  }

  *#change(
    entry: ToolSessionEntry,
    afterLSN: number,
    wakeAt: number | null,
    change: { [K in keyof EntryMeta]?: EntryMeta[K] | undefined },
  ): Operation<void> {
    const expiresAt = this.#home.keepUntil();
    const meta = { ...entry.meta, ...change } as never;
    yield* this.#home.store.append(entry.id, [], {
      afterLSN,
      epoch: entry.epoch,
      entry: { ...entry, expiresAt, meta },
      expiresAt,
      wakeAt,
    });
  }

  #failed(id: string, error: unknown): void {
    // The operator has been told.
    if (error instanceof SessionSetAsideError || this.#stopped) return;
    this.#home.report({ what: "it could not be woken", toolName: "-", sessionId: id, error });
  }
}

/** Whether a time to wake is that of a session that is set aside. */
export function isNever({ wakeAt }: { readonly wakeAt: number }): boolean {
  return wakeAt >= NEVER;
}

function failedAttempts(entry: ToolSessionEntry): number {
  const { settled = entry.epoch } = metaIn(entry);
  return entry.epoch - settled;
}

function metaIn({ meta }: ToolSessionEntry): EntryMeta {
  return (meta ?? {}) as unknown as EntryMeta;
}
