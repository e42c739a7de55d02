/**
 * The interfaces of stores. A store keeps the records of durable tool sessions and of legacy client
 * sessions.
 *
 * The essential operation is the conditional append: a store appends events only if the log ends
 * at the given LSN and the owner's epoch is current. A new owner raises the epoch of a session.
 * After that, the former owner cannot append.
 *
 * Entries and events are immutable. Callers and stores never modify them, so a store may keep and
 * return the same objects.
 */
import type { Operation } from "effection";
import type { JsonObject } from "../model/content.ts";
import type { ToolSessionEvent } from "../model/events.ts";

/** The data of a session, without its events. */
export interface ToolSessionEntry {
  readonly id: string;
  readonly toolName: string;
  readonly params: unknown;
  /** The caller of the session. Absent for anonymous callers and in records of earlier versions. */
  readonly principal?: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The epoch of the current owner. Each takeover raises it by one. */
  readonly epoch: number;
  /** The version of the tool that started the session. */
  readonly toolVersion?: string;
  /**
   * When the session expires, in milliseconds since the epoch. After that, the store may delete it.
   */
  readonly expiresAt?: number;
  /** Data of the registry. The store returns it unchanged. */
  readonly meta?: JsonObject;
}

/** The condition for an append. */
export interface AppendCondition {
  /** The LSN of the last event in the log. 0 if the log is empty. */
  readonly afterLSN: number;
  readonly epoch: number;
}

/** Changes that an append writes together with its events. Absent fields stay unchanged. */
export interface AppendChange {
  /** Creates the session, or replaces its entry if the session exists. */
  readonly entry?: ToolSessionEntry;
  /** Replaces `ToolSessionEntry.expiresAt`. */
  readonly expiresAt?: number;
  /** When the server resumes the session without a request. Null if it resumes only on request. */
  readonly wakeAt?: number | null;
}

/** A session that the server resumes without a request, at `wakeAt` or later. */
export interface Wake {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly wakeAt: number;
}

/**
 * Stores the records of durable calls. To keep them in another database, implement this interface:
 * the server needs nothing else.
 */
export interface ToolSessionStore {
  get(id: string): Operation<ToolSessionEntry | null>;
  /**
   * Writes an entry. An existing session keeps its events. Throws `StoreConflictError` if the
   * epoch of the entry is lower than the stored epoch.
   */
  set(id: string, entry: ToolSessionEntry): Operation<void>;
  /**
   * Makes the caller the owner of a session: raises the epoch by one and returns the new entry.
   * The operation is atomic, so that two concurrent callers get different epochs.
   */
  take(id: string): Operation<ToolSessionEntry | null>;
  /** Deletes a session and its events. Does nothing if the session does not exist. */
  delete(id: string): Operation<void>;
  /**
   * Appends the events and writes the changes, in one transaction. `events` may be empty. Throws
   * `StoreConflictError` if the condition does not hold. When `append` returns, the events are as
   * durable as this store can make them.
   */
  append(
    id: string,
    events: readonly ToolSessionEvent[],
    condition: AppendCondition & AppendChange,
  ): Operation<void>;
  /**
   * Returns the events after an LSN, in order. Returns none if the session does not exist. `limit` is
   * the number of events that are needed. A store may return more.
   */
  read(id: string, afterLSN?: number, limit?: number): Operation<readonly ToolSessionEvent[]>;
  /**
   * Returns sessions that have a `wakeAt`, ordered by `wakeAt` and then by id. With `after`, the
   * list starts after that session.
   */
  wakes(limit: number, after?: Wake): Operation<readonly Wake[]>;
  /** Deletes some expired sessions, and returns their number. One sweep must be short. */
  sweep(now: number): Operation<number>;
  /**
   * Called once when a server starts, with the ids of its keys. The first key is the one that
   * seals. A persistent store saves the id of that key, and keeps the id of a former key as long as
   * it has calls that may need that key. Throws `StoreError` if a saved id is not in `keyIds`,
   * because the server could not decrypt those calls.
   */
  checkKeys?(keyIds: readonly string[]): void;
  /**
   * Returns the approximate number of bytes that the sessions of each principal use. Without this
   * method, the limit `maxStore` does not apply.
   */
  usage?(): Operation<ReadonlyMap<string, number>>;
  /**
   * Returns the ids of all sessions of a principal, to export or erase its data. Without this method,
   * `parley store` cannot find them.
   */
  sessionsOf?(principal: string): Operation<readonly string[]>;
  /**
   * Returns about `limit` sessions after a position, in a fixed order, and none after the last one.
   * Default: from the first one. Without this method, operators see only the sessions in memory.
   */
  list?(limit: number, after?: number): Operation<readonly StoredSession[]>;
}

/** A session in a list of all sessions of a store. */
export interface StoredSession {
  /** The position in the list. */
  readonly position: number;
  readonly entry: ToolSessionEntry;
  /** The last event. Undefined if the session has no events. */
  readonly last?: ToolSessionEvent | undefined;
}

/** The stored state of a legacy client, so that its session survives a restart. */
export interface ClientSessionRecord {
  readonly id: string;
  readonly expiresAt: number;
  readonly state: JsonObject;
}

/** The position of a record in the list of client sessions, which is ordered by expiry. */
export interface ClientSessionPlace {
  readonly id: string;
  readonly expiresAt: number;
}

/** Stores the sessions of legacy clients. The modern protocol has no client sessions. */
export interface ClientSessionStore {
  get(id: string): Operation<ClientSessionRecord | null>;
  set(id: string, record: ClientSessionRecord): Operation<void>;
  delete(id: string): Operation<void>;
  /** Deletes some expired records and returns their number. */
  sweep(now: number): Operation<number>;
  /**
   * Returns some records after a position, or the first ones, each with its caller from
   * `state.principal`. Without this method, records of an earlier process do not count for the
   * limits.
   */
  list?(
    after?: ClientSessionPlace,
  ): Operation<readonly (ClientSessionPlace & { readonly principal: string })[]>;
}
