/** A disk that fails on request: it sits between a store and its file. */
import type { StatementSync } from "node:sqlite";
import type { Connection } from "../../../src/store/sqlite/file.ts";

export class FaultyDisk {
  /** Called before every command and statement; what it throws is the failure. */
  before: (sql: string) => void = () => {};
  /** Called after every command. */
  after: (sql: string) => void = () => {};

  readonly through = (db: Connection): Connection => ({
    exec: (sql) => {
      this.before(sql);
      db.exec(sql);
      this.after(sql);
    },
    prepare: (sql) => this.#watched(sql, db.prepare(sql)),
    close: () => db.close(),
  });

  /** Fails all statements that contain these words, until it is switched off. */
  fail(words: string, message: string): void {
    this.before = (sql) => {
      if (sql.includes(words)) throw new Error(message);
    };
  }

  heal(): void {
    this.before = () => {};
  }

  #watched(sql: string, statement: StatementSync): StatementSync {
    const before = () => this.before(sql);
    return new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          before();
          return value.apply(target, args);
        };
      },
    });
  }
}
