/** Opens a store by its address, and loads the implementation of that kind of store. */
import { StoreError } from "../model/errors.ts";
import type { SqliteStores } from "./sqlite/stores.ts";
import type { Durability } from "./sqlite/file.ts";

/**
 * Opens the stores at an address such as `sqlite:./parley.db`. Creates the file if it does not
 * exist.
 *
 * @example
 * ```ts
 * import { createParley, openStore, Sealer } from "parley-mcp";
 *
 * const stores = await openStore("sqlite:./parley.db");
 * const parley = createParley({
 *   store: stores.sessions,
 *   clients: stores.clients,
 *   sealer: new Sealer("a key that outlasts the program"),
 * });
 * await parley.close();
 * stores.close();
 * ```
 */
export async function openStore(address: string, durability?: Durability): Promise<SqliteStores> {
  const path = /^sqlite:(.+)$/.exec(address)?.[1];
  if (path === undefined) {
    throw new StoreError(
      `Cannot open the store "${address}": the address does not start with "sqlite:"; write it as sqlite:PATH`,
    );
  }
  const { openSqlite } = await import("./sqlite/stores.ts");
  return openSqlite(path, durability);
}
