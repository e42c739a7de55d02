/** `parley store export|erase`: the data of one caller in a store. */
import { type Operation, until } from "effection";
import type { ClientSessionPlace } from "../../store/types.ts";
import type { SqliteStores } from "../../store/sqlite/stores.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../problem.ts";

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
  const { useStore } = yield* until(import("./store.ts"));
  // The data is not decrypted: sealed answers stay sealed.
  const { stores } = yield* useStore(store, true);
  const calls = yield* stores.sessions.sessionsOf(principal);
  const clients = yield* clientSessionsOf(stores, principal);
  if (action === "export") {
    for (const id of calls) {
      const call = yield* stores.sessions.get(id);
      const events = yield* stores.sessions.read(id);
      if (call) terminal.print(JSON.stringify({ type: "call", call, events }));
    }
    for (const id of clients) {
      const record = yield* stores.clients.get(id);
      // Leave out the id of a client session: everybody who knows it can act as the client.
      if (record) terminal.print(JSON.stringify({ type: "client session", state: record.state }));
    }
    return 0;
  }
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
