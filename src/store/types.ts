/**
 * Where tool sessions live when they must outlast the process that runs them.
 *
 * The one essential operation is the conditional append: these events, after
 * this LSN, under this owner's epoch. Whoever takes a session over raises its
 * epoch, and from then on the former owner cannot append.
 *
 * Entries and events never change: nobody alters one that was handed to a store
 * or came from it, so a store may keep and hand out the same objects.
 */
import type { Operation } from "effection";
import type { JsonObject } from "../model/content.ts";
import type { ToolSessionEvent } from "../model/events.ts";

/** What is known of a session besides its events. */
export interface ToolSessionEntry {
  readonly id: string;
  readonly toolName: string;
  readonly params: unknown;
  /** On whose behalf it runs; absent for anybody, and in records of earlier versions. */
  readonly principal?: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Grows with every owner. */
  readonly epoch: number;
  /** Which version of the tool began it. */
  readonly toolVersion?: string;
  /** After this, in milliseconds since the epoch, the store may forget it. */
  readonly expiresAt?: number;
  /** What the layers above want to find again. */
  readonly meta?: JsonObject;
}

/** Under which conditions an append may happen. */
export interface AppendCondition {
  /** The LSN of the last event in the log; 0 for an empty one. */
  readonly afterLSN: number;
  readonly epoch: number;
}

/** What is written together with the events of an append; what is left out stays as it is. */
export interface AppendChange {
  /** Makes the session, where it is not there yet; replaces its entry, where it is. */
  readonly entry?: ToolSessionEntry;
  /** As `ToolSessionEntry.expiresAt`. */
  readonly expiresAt?: number;
  /** When it is to be run although nobody asks for it; null where it only waits to be asked for. */
  readonly wakeAt?: number | null;
}

/** A session that is to be run although nobody asks for it, from that time on. */
export interface Wake {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly wakeAt: number;
}

/**
 * Where the records of durable calls live. Write one of your own to keep them in
 * another database: everything above asks for no more than this.
 */
export interface ToolSessionStore {
  get(id: string): Operation<ToolSessionEntry | null>;
  /**
   * Writes an entry; the events of a session that is there already stay. Throws
   * `StoreConflictError` where the entry's epoch is lower than the one in the store.
   */
  set(id: string, entry: ToolSessionEntry): Operation<void>;
  /**
   * Takes a session over: raises its epoch by one and gives the entry as it is then,
   * in one step, so that of two who come at once each gets an epoch of its own.
   */
  take(id: string): Operation<ToolSessionEntry | null>;
  /** Removes a session and its events; nothing happens if there is none. */
  delete(id: string): Operation<void>;
  /**
   * Appends all of the events, which may be none, and writes what changes with them, or does
   * neither. Throws `StoreConflictError` where the condition
   * does not hold. When it returns, the events are kept as safely as this store can.
   */
  append(
    id: string,
    events: readonly ToolSessionEvent[],
    condition: AppendCondition & AppendChange,
  ): Operation<void>;
  /** The events after an LSN, in order; none for a session that is not there. */
  read(id: string, afterLSN?: number): Operation<readonly ToolSessionEvent[]>;
  /** Those with a time to wake, the earliest first, by id where that is the same; after one, if told. */
  wakes(limit: number, after?: Wake): Operation<readonly Wake[]>;
  /** Forgets some of those whose time is over, and tells how many: no sweep takes long. */
  sweep(now: number): Operation<number>;
  /**
   * Called once when a server starts, with the ids of its keys, the one that seals first. A store
   * that outlasts the server keeps that id, and throws `StoreError` where the one that it has is
   * not among them, unless it holds no calls: without that key, the server could not open what is in the store.
   */
  checkKeys?(keyIds: readonly string[]): void;
  /**
   * Bytes, roughly, that the sessions of each principal take. A store without this method
   * has no limit on its bytes: `maxStore` counts from what it tells.
   */
  usage?(): Operation<ReadonlyMap<string, number>>;
}

/** What is kept of a client of the legacy era, so that it finds itself again after a restart. */
export interface ClientSessionRecord {
  readonly id: string;
  readonly expiresAt: number;
  readonly state: JsonObject;
}

/** Where client sessions live; a store of its own, because the modern era has none. */
export interface ClientSessionStore {
  get(id: string): Operation<ClientSessionRecord | null>;
  set(id: string, record: ClientSessionRecord): Operation<void>;
  delete(id: string): Operation<void>;
  /** Forgets some of those whose time is over, and tells how many. */
  sweep(now: number): Operation<number>;
}
