/**
 * Counts how often a durable session was taken up and did not survive that, and sets it aside
 * after a few times. A step that exits or never returns would otherwise end the server at every
 * start.
 *
 * C1  Taking a session up raises its epoch. The record says at which epoch the session was last
 *     alive (`settled`), and the difference is the number of failed attempts. So an attempt is
 *     counted before it runs, without a write of its own.
 * C2  An attempt has survived once the session records an event, waits, leaves memory or ends, or
 *     once it has been at work for `GRACE`.
 * C3  After `MOST_ATTEMPTS` failed ones the session is set aside: it stays on record, and nobody
 *     but an operator has it run again.
 * C4  Sessions with failed attempts are taken up one at a time when a server starts, so that
 *     a crash counts against the session that caused it.
 */
import type { Operation } from "effection";
import type { Deadlines } from "../lib/deadlines.ts";
import { SessionSetAsideError } from "../model/errors.ts";
import { isFinal } from "../model/events.ts";
import type { Fault } from "../run/run-port.ts";
import type { Trial } from "../session/session-state.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSessionEntry, ToolSessionStore } from "../store/types.ts";
import type { EntryMeta } from "./durability.ts";

const MOST_ATTEMPTS = 3;
const GRACE = 5_000;

/** How many are read from the store at once. */
const PAGE = 100;

/** A time to wake that never comes. It marks sessions that are set aside, so that they are found. */
const NEVER = 8_640_000_000_000_000;

/** A call that is not run any more, because the server did not survive running it. */
export interface SetAsideCall {
  readonly sessionId: string;
  readonly toolName: string;
  readonly principal: string;
  /** When the call began, in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly setAsideAt: number;
  /** How many attempts to go on with it did not survive. */
  readonly attempts: number;
}

/** The calls that are set aside, for operators. */
export interface SetAsideCalls {
  list(): Promise<SetAsideCall[]>;
  /**
   * Lets a call go on, now or when its client comes back, with as many attempts as at first.
   * False if no call with this id is set aside.
   */
  revive(sessionId: string): Promise<boolean>;
}

export interface RecoveryHome {
  readonly store: ToolSessionStore;
  readonly deadlines: Deadlines;
  run<T>(operation: () => Operation<T>): Promise<T>;
  find(id: string): LiveToolSession | undefined;
  /** Takes a session up although nobody asks for it. */
  wake(id: string): Promise<void>;
  /** Writes down that a session has survived. */
  survived(session: LiveToolSession): void;
  /** Until when the record of a session is kept that is set aside now. */
  keepUntil(): number;
  report(fault: Fault): void;
}

export class Recovery implements SetAsideCalls {
  readonly #home: RecoveryHome;
  /** Those that are to be taken up one at a time. */
  readonly #suspects = new Set<string>();
  #turns: Promise<void> | undefined;
  #onTrial: Trial | undefined;
  #stopped = false;

  constructor(home: RecoveryHome) {
    this.#home = home;
  }

  /** Takes up a session whose time has come: at once, or in its turn if it is suspect. */
  async wake(id: string): Promise<void> {
    const entry = await this.#home.run(() => this.#home.store.get(id));
    if (!entry || failedAttempts(entry) === 0) return await this.#home.wake(id);
    this.#suspects.add(id);
    this.#turns ??= this.#takeTurns().finally(() => this.#turns = undefined);
  }

  /** Resolves once no suspect is being taken up any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#onTrial?.over?.();
    await this.#turns;
  }

  /** Throws `SessionSetAsideError` for a session that may not be taken up. */
  *admit(entry: ToolSessionEntry): Operation<void> {
    const { id, toolName } = entry;
    if (metaIn(entry).setAside) throw new SessionSetAsideError(id, toolName);
    const attempts = failedAttempts(entry);
    if (attempts < MOST_ATTEMPTS) return;
    const { store } = this.#home;
    const last = (yield* store.read(id)).at(-1);
    // What has ended is not run again, only read.
    if (last && isFinal(last)) return;
    yield* this.#change(entry, last?.lsn ?? 0, NEVER, {
      setAside: { at: this.#home.deadlines.now(), attempts },
    });
    const error = new SessionSetAsideError(id, toolName);
    const what =
      `it was set aside: the server did not survive ${attempts} attempts to go on with it`;
    this.#home.report({ what, toolName, sessionId: id, error });
    throw error;
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
  begin(session: LiveToolSession, mine: ToolSessionEntry): void {
    // Not this attempt, which has been counted already.
    const failed = failedAttempts(mine) - 1;
    const deadline = this.#home.deadlines.add(GRACE, () => this.#home.survived(session));
    session.trial = { failed, deadline };
    if (failed === 0) return;
    const error = new Error(
      `Cannot be sure of this call: ${failed} attempts to go on with it ended the server; it is set aside after ${MOST_ATTEMPTS}`,
    );
    const { toolName, id: sessionId } = session;
    this.#home.report({ what: "it is taken up once more", toolName, sessionId, error });
  }

  /** It waits, as far as it goes: a suspect has then survived. Others are believed to later. */
  looked(session: LiveToolSession): void {
    const { trial, waiting, replay } = session;
    if (trial && trial.failed > 0 && waiting && replay?.done !== false) {
      this.#home.survived(session);
    }
  }

  /** Its attempt is over, one way or the other. */
  over(session: LiveToolSession): void {
    const { trial } = session;
    session.trial = undefined;
    trial?.deadline.cancel();
    trial?.over?.();
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

  async #takeTurns(): Promise<void> {
    for (const id of this.#suspects) {
      this.#suspects.delete(id);
      if (this.#stopped) return;
      try {
        await this.#home.wake(id);
      } catch (error) {
        this.#failed(id, error);
        continue;
      }
      const trial = this.#onTrial = this.#home.find(id)?.trial;
      if (trial && !this.#stopped) await new Promise<void>((resolve) => trial.over = resolve);
      this.#onTrial = undefined;
    }
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
