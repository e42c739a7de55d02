/** `parley store export|erase`: the data of one caller in a store. */
import { ensure, type Operation, race, resource, until, useAbortSignal } from "effection";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreError } from "../../model/errors.ts";
import { isInUse } from "../../store/sqlite/errors.ts";
import type { ClientSessionPlace } from "../../store/types.ts";
import type { SqliteStores } from "../../store/sqlite/stores.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../problem.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface PrincipalDataOptions {
  /** Where durable calls are stored, as `sqlite:PATH`. */
  readonly store: string;
  /** The id of the caller. */
  readonly principal: string;
}

export function* principalData(
  action: "export" | "erase",
  { store, principal }: PrincipalDataOptions,
  { terminal }: Environment,
): Operation<number> {
  const path = /^sqlite:(.+)$/.exec(store)?.[1];
  if (path === undefined || !existsSync(path)) {
    throw new Problem(
      `Cannot ${action} the data of "${principal}": there is no store at "${store}"; write the address as sqlite:PATH`,
    );
  }
  if (action === "erase") return yield* erased(path, principal, terminal);
  // Handle signals, so that the copy is always deleted: it contains the data of every caller.
  const signals = yield* useSignals();
  const ended = yield* race([exported(path, principal, terminal), signals.next()]);
  return typeof ended === "number" ? ended : exitCodeOf(ended.value);
}

/** Exports the data from a copy of the store, so that a server can keep using the store. */
function* exported(path: string, principal: string, terminal: Terminal): Operation<number> {
  const stores = yield* useCopy(path);
  // The data is not decrypted: sealed answers stay sealed.
  for (const id of yield* stores.sessions.sessionsOf(principal)) {
    const call = yield* stores.sessions.get(id);
    const events = yield* stores.sessions.read(id);
    if (call) terminal.print(JSON.stringify({ type: "call", call, events }));
  }
  for (const id of yield* clientSessionsOf(stores, principal)) {
    const record = yield* stores.clients.get(id);
    // The id of a client session lets its holder act as the client.
    if (record) terminal.print(JSON.stringify({ type: "client session", state: record.state }));
  }
  return 0;
}

function useCopy(path: string): Operation<SqliteStores> {
  return resource(function* (provide) {
    const { copyStore } = yield* until(import("../../store/sqlite/snapshot.ts"));
    const { openSqlite } = yield* until(import("../../store/sqlite/stores.ts"));
    const folder = yield* until(mkdtemp(join(tmpdir(), "parley-store-")));
    yield* ensure(() => until(rm(folder, { recursive: true, force: true })));
    let stores: SqliteStores;
    try {
      const signal = yield* useAbortSignal();
      stores = openSqlite(yield* until(copyStore(path, folder, signal)));
    } catch (error) {
      if (error instanceof StoreError) throw new Problem(error.message.replaceAll(folder, "…"));
      throw error;
    }
    try {
      yield* provide(stores);
    } finally {
      stores.close();
    }
  });
}

/**
 * Erases the data. No server may use the store at that time, because it would write its calls in
 * memory again.
 */
function* erased(path: string, principal: string, terminal: Terminal): Operation<number> {
  const { openSqlite } = yield* until(import("../../store/sqlite/stores.ts"));
  let stores: SqliteStores;
  try {
    stores = openSqlite(path);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new Problem(
      isInUse(error)
        ? `Cannot erase the data of "${principal}": a server is using the store, and would write its calls again; stop the server, run this command, and start the server again`
        : error.message,
    );
  }
  yield* ensure(() => stores.close());
  const calls = yield* stores.sessions.sessionsOf(principal);
  const clients = yield* clientSessionsOf(stores, principal);
  stores.overwriteDeleted();
  for (const id of calls) yield* stores.sessions.delete(id);
  for (const id of clients) yield* stores.clients.delete(id);
  // Also removes the data from the free space of the file.
  yield* stores.sessions.sweep(0);
  const left = (yield* stores.sessions.sessionsOf(principal)).length;
  if (left > 0) {
    throw new Problem(
      `Cannot erase the data of "${principal}": ${left} calls are still in the store; try again`,
    );
  }
  terminal.note(
    `Erased ${calls.length} calls and ${clients.length} client sessions of "${principal}".`,
  );
  return 0;
}

function* clientSessionsOf({ clients }: SqliteStores, principal: string): Operation<string[]> {
  const ids: string[] = [];
  let after: ClientSessionPlace | undefined;
  for (;;) {
    const page = yield* clients.list!(after);
    if (page.length === 0) return ids;
    ids.push(...page.filter((one) => one.principal === principal).map(({ id }) => id));
    after = page.at(-1)!;
  }
}
