/** Stores that outlast the process, in one SQLite file. */
import type { Operation } from "effection";
import { StoreConflict } from "../errors.ts";
import type { ToolSessionEvent } from "../events.ts";
import { type Durability, SqliteFile } from "./sqlite-file.ts";
import type {
  AppendChange,
  AppendCondition,
  ClientSessionRecord,
  ClientSessionStore,
  ToolSessionEntry,
  ToolSessionStore,
  Wake,
} from "./types.ts";

/** How many expired sessions one sweep removes at most, so that no sweep takes long. */
const SWEEP = 1_000;

export class SqliteToolSessionStore implements ToolSessionStore {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  *get(id: string): Operation<ToolSessionEntry | null> {
    return this.#entry(id);
  }

  *set(id: string, entry: ToolSessionEntry): Operation<void> {
    // Now, not when it is written: the caller may go on to change what it holds.
    const text = JSON.stringify(entry);
    yield* this.#file.write(() => {
      const { changes } = this.#file.prepare(`
        INSERT INTO sessions (id, epoch, last_lsn, expires_at, entry) VALUES (?, ?, 0, ?, ?)
        ON CONFLICT (id) DO UPDATE SET
          epoch = excluded.epoch, expires_at = excluded.expires_at, entry = excluded.entry
        WHERE excluded.epoch >= sessions.epoch
      `).run(id, entry.epoch, entry.expiresAt ?? null, text);
      if (Number(changes) === 0) {
        throw new StoreConflict(id, `epoch ${entry.epoch} is over, a later one has begun`);
      }
    });
  }

  *take(id: string): Operation<ToolSessionEntry | null> {
    return yield* this.#file.write(() => {
      this.#file.prepare("UPDATE sessions SET epoch = epoch + 1 WHERE id = ?").run(id);
      return this.#entry(id);
    });
  }

  *delete(id: string): Operation<void> {
    yield* this.#file.write(() => this.#remove(id));
  }

  *append(
    id: string,
    events: readonly ToolSessionEvent[],
    { afterLSN, epoch, entry, expiresAt, wakeAt }: AppendCondition & AppendChange,
  ): Operation<void> {
    const texts = events.map((event, i) => {
      if (event.lsn !== afterLSN + 1 + i) {
        throw new StoreConflict(id, `event ${event.lsn} does not follow ${afterLSN + i}`);
      }
      return JSON.stringify(event);
    });
    const entryText = entry && JSON.stringify(entry);
    yield* this.#file.write(() => {
      const { changes } = this.#file.prepare(`
        UPDATE sessions SET last_lsn = ?, entry = ifnull(?, entry),
          expires_at = ifnull(?, expires_at), wake_at = CASE WHEN ? THEN ? ELSE wake_at END
        WHERE id = ? AND last_lsn = ? AND epoch = ?
      `).run(
        afterLSN + events.length,
        entryText ?? null,
        expiresAt ?? entry?.expiresAt ?? null,
        wakeAt === undefined ? 0 : 1,
        wakeAt ?? null,
        id,
        afterLSN,
        epoch,
      );
      if (Number(changes) === 0) {
        if (entryText === undefined || afterLSN !== 0 || this.#entry(id)) {
          throw this.#conflict(id, afterLSN, epoch);
        }
        this.#file.prepare(`
          INSERT INTO sessions (id, epoch, last_lsn, expires_at, entry, wake_at)
          VALUES (?, ?, ?, ?, ?, ?)
        `).run(
          id,
          epoch,
          events.length,
          expiresAt ?? entry!.expiresAt ?? null,
          entryText,
          wakeAt ?? null,
        );
      }
      const insert = this.#file.prepare(
        "INSERT INTO events (session_id, lsn, event) VALUES (?, ?, ?)",
      );
      texts.forEach((text, i) => insert.run(id, afterLSN + 1 + i, text));
    });
  }

  *read(id: string, afterLSN = 0): Operation<readonly ToolSessionEvent[]> {
    return this.#file.prepare(
      "SELECT event FROM events WHERE session_id = ? AND lsn > ? ORDER BY lsn",
    ).all(id, afterLSN).map((row) => JSON.parse(String(row.event)));
  }

  *wakes(limit: number, after: Wake = { wakeAt: -1, id: "" }): Operation<readonly Wake[]> {
    return this.#file.prepare(`
      SELECT id, wake_at FROM sessions WHERE (wake_at, id) > (?, ?) ORDER BY wake_at, id LIMIT ?
    `).all(after.wakeAt, after.id, limit)
      .map((row) => ({ id: String(row.id), wakeAt: Number(row.wake_at) }));
  }

  *sweep(now: number): Operation<number> {
    return yield* this.#file.write(() => {
      const expired = this.#file.prepare(
        `SELECT id FROM sessions WHERE expires_at < ? LIMIT ${SWEEP}`,
      ).all(now);
      for (const row of expired) this.#remove(String(row.id));
      return expired.length;
    });
  }

  /** What changes with every append or owner stands beside the entry, and counts. */
  #entry(id: string): ToolSessionEntry | null {
    const row = this.#file.prepare("SELECT epoch, expires_at, entry FROM sessions WHERE id = ?")
      .get(id);
    if (!row) return null;
    return {
      ...JSON.parse(String(row.entry)),
      epoch: Number(row.epoch),
      ...(row.expires_at !== null && { expiresAt: Number(row.expires_at) }),
    };
  }

  #remove(id: string): void {
    this.#file.prepare("DELETE FROM events WHERE session_id = ?").run(id);
    this.#file.prepare("DELETE FROM sessions WHERE id = ?").run(id);
  }

  #conflict(id: string, afterLSN: number, epoch: number): StoreConflict {
    const row = this.#file.prepare("SELECT epoch, last_lsn FROM sessions WHERE id = ?").get(id);
    if (!row) return new StoreConflict(id, "it is not in the store");
    return Number(row.epoch) !== epoch
      ? new StoreConflict(id, `epoch ${epoch} is over, ${row.epoch} has begun`)
      : new StoreConflict(id, `its last event is ${row.last_lsn}, not ${afterLSN}`);
  }
}

export class SqliteClientSessionStore implements ClientSessionStore {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  *get(id: string): Operation<ClientSessionRecord | null> {
    const row = this.#file.prepare("SELECT record FROM client_sessions WHERE id = ?").get(id);
    return row ? JSON.parse(String(row.record)) : null;
  }

  *set(id: string, record: ClientSessionRecord): Operation<void> {
    const text = JSON.stringify(record);
    yield* this.#file.write(() =>
      void this.#file.prepare(
        "INSERT OR REPLACE INTO client_sessions (id, expires_at, record) VALUES (?, ?, ?)",
      ).run(id, record.expiresAt, text)
    );
  }

  *delete(id: string): Operation<void> {
    yield* this.#file.write(() =>
      void this.#file.prepare("DELETE FROM client_sessions WHERE id = ?").run(id)
    );
  }

  *sweep(now: number): Operation<number> {
    return yield* this.#file.write(() =>
      Number(
        this.#file.prepare(`
          DELETE FROM client_sessions WHERE id IN
            (SELECT id FROM client_sessions WHERE expires_at < ? LIMIT ${SWEEP})
        `).run(now).changes,
      )
    );
  }
}

/** Both stores in one SQLite file: that of calls, and that of clients of the legacy era. */
export interface SqliteStores {
  readonly sessions: SqliteToolSessionStore;
  readonly clients: SqliteClientSessionStore;
  close(): void;
}

/** Opens a file, and makes it if it is not there. */
export function openSqlite(path: string, durability?: Durability): SqliteStores {
  const file = new SqliteFile(path, durability);
  return {
    sessions: new SqliteToolSessionStore(file),
    clients: new SqliteClientSessionStore(file),
    close: () => file.close(),
  };
}
