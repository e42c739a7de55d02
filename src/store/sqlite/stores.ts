/** The stores for durable calls and for legacy client sessions, in one SQLite file. */
import { Buffer } from "node:buffer";
import type { Operation } from "effection";
import type { SQLOutputValue } from "node:sqlite";
import { StoreConflictError, StoreError } from "../../model/errors.ts";
import type { ToolSessionEvent } from "../../model/events.ts";
import { keyIdOf } from "../../lib/sealer.ts";
import { damaged } from "./errors.ts";
import { type Durability, SqliteFile } from "./file.ts";
import { PROPERTIES } from "./schema.ts";
import type {
  AppendChange,
  AppendCondition,
  ClientSessionPlace,
  ClientSessionRecord,
  ClientSessionStore,
  StoredSession,
  ToolSessionEntry,
  ToolSessionStore,
  Wake,
} from "../types.ts";

/** The maximum number of expired sessions that one sweep removes, so that no sweep takes long. */
const MAX_SWEPT = 1_000;

/** The maximum number of client sessions that one query returns. */
const MAX_LISTED = 200;

/**
 * The maximum number of events that one commit removes. A long event counts once for each page that
 * it fills.
 */
const MAX_REMOVED = 2_000;
const PAGE_SIZE = 4_096;

/**
 * SQL for the number of a new session. A number is not reused while events of its former session
 * remain.
 */
const NEXT_NUMBER = `1 + max(
  ifnull((SELECT max(number) FROM sessions), 0), ifnull((SELECT max(number) FROM remains), 0)
)`;

export class SqliteToolSessionStore implements ToolSessionStore {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  *get(id: string): Operation<ToolSessionEntry | null> {
    return this.#file.read(() => this.#entry(id));
  }

  *set(id: string, entry: ToolSessionEntry): Operation<void> {
    // Serialise now: the caller may modify the entry before it is written.
    const text = JSON.stringify(entry);
    yield* this.#file.write(() => {
      const { changes } = this.#file.prepare(`
        INSERT INTO sessions (number, id, epoch, last_lsn, expires_at, principal, entry_bytes)
        VALUES (${NEXT_NUMBER}, ?, ?, 0, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, expires_at = excluded.expires_at,
          entry_bytes = excluded.entry_bytes
        WHERE excluded.epoch >= sessions.epoch
      `).run(
        id,
        entry.epoch,
        entry.expiresAt ?? null,
        entry.principal ?? "",
        Buffer.byteLength(text),
      );
      if (Number(changes) === 0) {
        throw new StoreConflictError(id, `epoch ${entry.epoch} has been superseded by a later one`);
      }
      this.#setEntry(id, text);
    });
  }

  *take(id: string): Operation<ToolSessionEntry | null> {
    return yield* this.#file.write(() => {
      this.#file.prepare("UPDATE sessions SET epoch = epoch + 1 WHERE id = ?").run(id);
      return this.#entry(id);
    });
  }

  *delete(id: string): Operation<void> {
    yield* this.#file.write(() => {
      const row = this.#file.prepare("SELECT number FROM sessions WHERE id = ?").get(id);
      if (!row) return;
      this.#forget(row.number);
      this.#clear();
    });
  }

  *append(
    id: string,
    events: readonly ToolSessionEvent[],
    { afterLSN, epoch, entry, expiresAt, wakeAt }: AppendCondition & AppendChange,
  ): Operation<void> {
    const texts: string[] = [];
    let bytes = 0;
    for (const event of events) {
      const last = afterLSN + texts.length;
      if (event.lsn !== last + 1) {
        throw new StoreConflictError(id, `event ${event.lsn} does not follow ${last}`);
      }
      const text = JSON.stringify(event);
      texts.push(text);
      bytes += Buffer.byteLength(text);
    }
    const entryText = entry && JSON.stringify(entry);
    const expiry = expiresAt ?? entry?.expiresAt ?? null;
    const entryBytes = entryText === undefined ? null : Buffer.byteLength(entryText);
    yield* this.#file.write(() => {
      const { changes } = this.#file.prepare(`
        UPDATE sessions SET last_lsn = ?, event_bytes = event_bytes + ?,
          entry_bytes = ifnull(?, entry_bytes),
          expires_at = CASE WHEN ? THEN ? ELSE expires_at END,
          wake_at = CASE WHEN ? THEN ? ELSE wake_at END
        WHERE id = ? AND last_lsn = ? AND epoch = ?
      `).run(
        afterLSN + events.length,
        bytes,
        entryBytes,
        entry === undefined && expiresAt === undefined ? 0 : 1,
        expiry,
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
          INSERT INTO sessions
            (number, id, epoch, last_lsn, expires_at, wake_at, principal, entry_bytes, event_bytes)
          VALUES (${NEXT_NUMBER}, ?, ?, ?, ?, ?, ?, ?, ?)
        `).run(
          id,
          epoch,
          events.length,
          expiry,
          wakeAt ?? null,
          entry?.principal ?? "",
          entryBytes,
          bytes,
        );
      }
      if (entryText !== undefined) this.#setEntry(id, entryText);
      // A separate query for the number is faster than an update with RETURNING.
      const insert = this.#file.prepare(`
        INSERT INTO events (session, lsn, event)
        VALUES ((SELECT number FROM sessions WHERE id = ?), ?, ?)
      `);
      for (const [i, text] of texts.entries()) insert.run(id, afterLSN + 1 + i, text);
    });
  }

  *read(
    id: string,
    afterLSN = 0,
    limit: number = Number.MAX_SAFE_INTEGER,
  ): Operation<readonly ToolSessionEvent[]> {
    return this.#file.read(() => {
      const row = this.#file.prepare("SELECT number, last_lsn FROM sessions WHERE id = ?").get(id);
      if (!row) return [];
      const rows = this.#file.prepare(
        "SELECT event FROM events WHERE session = ? AND lsn > ? ORDER BY lsn LIMIT ?",
      ).all(row.number!, afterLSN, limit);
      const events: ToolSessionEvent[] = [];
      const expected = Math.min(limit, Math.max(0, Number(row.last_lsn) - afterLSN));
      let whole = rows.length === expected;
      for (const { event } of rows) {
        events.push(this.#parse(event) as ToolSessionEvent);
        whole &&= events.at(-1)!.lsn === afterLSN + events.length;
      }
      // Never return an incomplete log: a replay would treat it as complete, and repeat effects.
      if (!whole) throw damaged("read", this.#file.path, `events of session "${id}" are missing`);
      return events;
    });
  }

  *wakes(limit: number, after: Wake = { wakeAt: -1, id: "" }): Operation<readonly Wake[]> {
    return this.#file.read(() =>
      this.#file.prepare(`
        SELECT id, wake_at FROM sessions WHERE (wake_at, id) > (?, ?) ORDER BY wake_at, id LIMIT ?
      `).all(after.wakeAt, after.id, limit)
        .map((row) => ({ id: String(row.id), wakeAt: Number(row.wake_at) }))
    );
  }

  /** True if the store has no calls. */
  get isEmpty(): boolean {
    return this.#file.read(() =>
      this.#file.prepare("SELECT 1 FROM sessions LIMIT 1").get() === undefined
    );
  }

  /**
   * Checks that the server has all keys that stored calls may need. The property `key` holds the id
   * of the key that seals. Each property `former key ID` holds the number of the last session that
   * may need that former key, and is removed once no such session is left.
   */
  checkKeys(keyIds: readonly string[]): void {
    this.#file.read(() => {
      this.#file.prepare(PROPERTIES).run();
      const sealing = keyIds[0]!;
      const needed = this.#neededKeys();
      const missing = needed.filter((id) => !keyIds.includes(id));
      if (missing.length > 0) {
        throw new StoreError(
          `Cannot use the store "${this.#file.path}": it was written with another key (id ${
            missing.join(", id ")
          }), and waiting calls cannot continue without it; add that key to PARLEY_KEY after a comma or restore "${this.#file.path}.key", or use another store`,
        );
      }
      // Nothing proves that the stored calls use this key, so do not save it: a later start with
      // another key must not be refused.
      if (needed.length === 0 && !this.isEmpty) return;
      const former = this.#file.prepare(`
        INSERT OR REPLACE INTO properties (name, value)
        VALUES ('former key ' || ?, (SELECT ifnull(max(number), 0) FROM sessions))
      `);
      const known = this.#sealingKey();
      for (const id of needed) {
        // A key that already was a former key keeps its property.
        if (id !== sealing && (known === undefined || id === known)) former.run(id);
      }
      if (known === sealing) return;
      this.#file.prepare("INSERT OR REPLACE INTO properties (name, value) VALUES ('key', ?)")
        .run(sealing);
    });
  }

  /** The ids of all keys that calls in the store may need. */
  #neededKeys(): string[] {
    const file = this.#file;
    file.prepare(`
      DELETE FROM properties WHERE name LIKE 'former key %' AND NOT EXISTS
        (SELECT 1 FROM sessions WHERE number <= CAST(properties.value AS INTEGER))
    `).run();
    if (this.isEmpty) return [];
    const known = this.#sealingKey();
    if (known === undefined) return this.#keysOfEvents();
    const former = file.prepare(
      "SELECT substr(name, 12) AS id FROM properties WHERE name LIKE 'former key %'",
    ).all().map(({ id }) => String(id));
    return [...new Set([known, ...former])];
  }

  #sealingKey(): string | undefined {
    const row = this.#file.prepare("SELECT value FROM properties WHERE name = 'key'").get();
    return row && String(row.value);
  }

  /**
   * Returns the ids of the keys that sealed stored events. A store of an earlier version has no key
   * ids, but each sealed text starts with the id of its key.
   */
  #keysOfEvents(): string[] {
    const starts = this.#file.prepare(`
      SELECT DISTINCT substr(json_extract(event, '$.sealed'), 1, 8) AS start
      FROM events JOIN sessions ON sessions.number = events.session
      WHERE CASE WHEN instr(event, '"sealed":"') > 0 AND json_valid(event)
        THEN json_type(event, '$.sealed') = 'text' END
    `).all();
    return [...new Set(starts.map(({ start }) => keyIdOf(String(start))))];
  }

  *usage(): Operation<ReadonlyMap<string, number>> {
    return this.#file.read(() =>
      new Map(
        this.#file.prepare(`
          SELECT principal, sum(entry_bytes + event_bytes) AS bytes FROM sessions GROUP BY principal
        `).all().map(({ principal, bytes }) => [String(principal), Number(bytes)]),
      )
    );
  }

  *sessionsOf(principal: string): Operation<readonly string[]> {
    return this.#file.read(() =>
      this.#file.prepare("SELECT id FROM sessions WHERE principal = ? ORDER BY number")
        .all(principal).map(({ id }) => String(id))
    );
  }

  *list(limit: number, after = 0): Operation<readonly StoredSession[]> {
    return this.#file.read(() =>
      this.#file.prepare(`
        SELECT number, epoch, expires_at, entry, event
        FROM (SELECT * FROM sessions WHERE number > ? ORDER BY number LIMIT ?) AS sessions
        JOIN entries USING (number)
        LEFT JOIN events ON events.session = number AND events.lsn = last_lsn
        ORDER BY number
      `).all(after, limit).map((row) => ({
        position: Number(row.number),
        entry: {
          ...this.#parse(row.entry) as ToolSessionEntry,
          epoch: Number(row.epoch),
          ...(row.expires_at !== null && { expiresAt: Number(row.expires_at) }),
        },
        last: row.event === null ? undefined : this.#parse(row.event) as ToolSessionEvent,
      }))
    );
  }

  /**
   * Removes expired sessions in small steps, so that other jobs can run in between. If a sweep is
   * halted, the next sweep continues its work.
   */
  *sweep(now: number): Operation<number> {
    let [forgotten, more] = yield* this.#file.write(() => {
      const expired = this.#file.prepare(
        `SELECT number FROM sessions WHERE expires_at < ? LIMIT ${MAX_SWEPT}`,
      ).all(now);
      for (const { number } of expired) this.#forget(number);
      return [expired.length, this.#clear()] as const;
    });
    while (more) more = yield* this.#file.write(() => this.#clear());
    yield* this.#file.compact();
    return forgotten;
  }

  /**
   * Reads an entry. Columns that change with every append or takeover replace the values in the
   * stored JSON.
   */
  #entry(id: string): ToolSessionEntry | null {
    const row = this.#file.prepare(
      "SELECT epoch, expires_at, entry FROM sessions JOIN entries USING (number) WHERE id = ?",
    ).get(id);
    if (!row) return null;
    return {
      ...this.#parse(row.entry) as ToolSessionEntry,
      epoch: Number(row.epoch),
      ...(row.expires_at !== null && { expiresAt: Number(row.expires_at) }),
    };
  }

  #setEntry(id: string, text: string): void {
    this.#file.prepare(`
      INSERT OR REPLACE INTO entries (number, entry)
      VALUES ((SELECT number FROM sessions WHERE id = ?), ?)
    `).run(id, text);
  }

  #parse(text: unknown): unknown {
    try {
      return JSON.parse(String(text));
    } catch (error) {
      throw damaged("read", this.#file.path, String(error));
    }
  }

  /** Removes a session, and marks its events for removal. */
  #forget(number: SQLOutputValue | undefined): void {
    for (
      const sql of [
        "DELETE FROM sessions WHERE number = ?",
        "DELETE FROM entries WHERE number = ?",
        "INSERT INTO remains (number) VALUES (?)",
      ]
    ) this.#file.prepare(sql).run(number!);
  }

  /** Removes a batch of events that are marked for removal. Returns true if more are left. */
  #clear(): boolean {
    const file = this.#file;
    const remains = file.prepare(`SELECT number FROM remains LIMIT ${MAX_SWEPT}`).all();
    let left = MAX_REMOVED;
    for (const { number } of remains) {
      const events = file.prepare(`
        SELECT lsn, octet_length(event) AS size FROM events WHERE session = ? ORDER BY lsn LIMIT ?
      `).all(number!, left);
      let last: SQLOutputValue = 0;
      for (const { lsn, size } of events) {
        if (left <= 0) break;
        left -= 1 + Math.floor(Number(size) / PAGE_SIZE);
        last = lsn!;
      }
      file.prepare("DELETE FROM events WHERE session = ? AND lsn <= ?").run(number!, last);
      if (left <= 0) return true;
      file.prepare("DELETE FROM remains WHERE number = ?").run(number!);
    }
    return remains.length === MAX_SWEPT;
  }

  #conflict(id: string, afterLSN: number, epoch: number): StoreConflictError {
    const row = this.#file.prepare("SELECT epoch, last_lsn FROM sessions WHERE id = ?").get(id);
    if (!row) return new StoreConflictError(id, "it is not in the store", true);
    return Number(row.epoch) !== epoch
      ? new StoreConflictError(id, `epoch ${epoch} has been superseded by ${row.epoch}`)
      : new StoreConflictError(id, `its last event is ${row.last_lsn}, not ${afterLSN}`);
  }
}

export class SqliteClientSessionStore implements ClientSessionStore {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  *get(id: string): Operation<ClientSessionRecord | null> {
    return this.#file.read(() => {
      const row = this.#file.prepare("SELECT record FROM client_sessions WHERE id = ?").get(id);
      return row ? JSON.parse(String(row.record)) : null;
    });
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

  *list(after: ClientSessionPlace = { expiresAt: 0, id: "" }) {
    return this.#file.read(() =>
      this.#file.prepare(`
        SELECT id, expires_at, ifnull(record ->> '$.state.principal', '') AS principal
        FROM client_sessions WHERE (expires_at, id) > (?, ?)
        ORDER BY expires_at, id LIMIT ${MAX_LISTED}
      `).all(after.expiresAt, after.id).map((row) => ({
        id: String(row.id),
        expiresAt: Number(row.expires_at),
        principal: String(row.principal),
      }))
    );
  }

  *sweep(now: number): Operation<number> {
    return yield* this.#file.write(() =>
      Number(
        this.#file.prepare(`
          DELETE FROM client_sessions WHERE id IN
            (SELECT id FROM client_sessions WHERE expires_at < ? LIMIT ${MAX_SWEPT})
        `).run(now).changes,
      )
    );
  }
}

/** Two stores in one SQLite file: one for durable calls, one for legacy client sessions. */
export interface SqliteStores {
  /** The store of durable calls. `isEmpty` is true if it has no calls. */
  readonly sessions: Required<ToolSessionStore> & { readonly isEmpty: boolean };
  /** The store of legacy client sessions. */
  readonly clients: ClientSessionStore;
  /**
   * From now on, deleted data is overwritten with zeros, which is slower. Default: deleted data
   * stays in the file until its space is reused.
   */
  overwriteDeleted(): void;
  /** Closes the file. */
  close(): void;
}

/**
 * Opens a file, and creates it if it does not exist. `busyTimeout` is the number of milliseconds to
 * wait for a lock that another process holds. Default: 5,000.
 */
export function openSqlite(
  path: string,
  durability?: Durability,
  busyTimeout?: number,
): SqliteStores {
  const file = new SqliteFile(path, durability, undefined, busyTimeout);
  return {
    sessions: new SqliteToolSessionStore(file),
    clients: new SqliteClientSessionStore(file),
    overwriteDeleted: () => file.overwriteDeleted(),
    close: () => file.close(),
  };
}
