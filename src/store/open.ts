/** Opens a store by its address. Loads what it needs for that, and nothing before. */
import { StoreError } from "../errors.ts";
import type { SqliteStores } from "./sqlite.ts";
import type { Durability } from "./sqlite-file.ts";

/**
 * Opens the stores at an address such as `sqlite:./parley.db`, and makes the file
 * if it is not there.
 *
 * @example
 * ```ts ignore
 * const stores = await openStore("sqlite:./parley.db");
 * const parley = createParley({ serve, store: stores.sessions, sealer: new Sealer(key) });
 * ```
 */
export async function openStore(address: string, durability?: Durability): Promise<SqliteStores> {
  const path = /^sqlite:(.+)$/.exec(address)?.[1];
  if (path === undefined) {
    throw new StoreError(`Cannot open the store "${address}": give it as sqlite:PATH`);
  }
  const { openSqlite } = await import("./sqlite.ts");
  return openSqlite(path, durability);
}
