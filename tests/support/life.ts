/** One server after another with the same file and the same key. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createParley, type Parley, type ParleyOptions, Sealer } from "../../src/mod.ts";
import { openSqlite, type SqliteStores } from "../../src/store/sqlite/stores.ts";

export class Life {
  readonly folder = mkdtempSync(join(tmpdir(), "parley-life-"));
  readonly #options: ParleyOptions;
  #stores: SqliteStores | undefined;
  #parley: Parley | undefined;

  constructor(options: ParleyOptions) {
    this.#options = options;
  }

  get parley(): Parley {
    return this.#parley!;
  }

  get stores(): SqliteStores {
    return this.#stores!;
  }

  /** Stops the current server, if any, and starts the next. */
  async start(options: ParleyOptions = {}): Promise<Parley> {
    await this.stop();
    this.#stores = openSqlite(join(this.folder, "store.db"));
    return this.#parley = createParley({
      store: this.#stores.sessions,
      clients: this.#stores.clients,
      sealer: new Sealer("a key that outlasts the server"),
      ...this.#options,
      ...options,
    });
  }

  async stop(): Promise<void> {
    await this.#parley?.close();
    this.#stores?.close();
    this.#parley = this.#stores = undefined;
  }
}

/** Runs `body` with a Life, and cleans up. */
export async function living(
  options: ParleyOptions,
  body: (life: Life) => Promise<void>,
): Promise<void> {
  const life = new Life(options);
  try {
    await body(life);
  } finally {
    await life.stop();
    rmSync(life.folder, { recursive: true, force: true });
  }
}
