/**
 * A process that appends for ever, to several sessions at once, and prints each acknowledged
 * event. The process that started it kills it.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { all, main, type Operation } from "effection";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { entry, event } from "./kit.ts";

const [path, ...ids] = process.argv.slice(2);

await main(function* () {
  const { sessions } = openSqlite(path!);
  yield* all(ids.map(function* (id): Operation<void> {
    if (!(yield* sessions.get(id))) yield* sessions.set(id, entry(id));
    let last = (yield* sessions.read(id)).length;
    while (true) {
      // Two at a time: half of them must never be there.
      const pair = [event(last + 1, "x".repeat(last % 700)), event(last + 2)];
      yield* sessions.append(id, pair, { afterLSN: last, epoch: 1 });
      last += 2;
      // Not console.log(): this must be written before the next one begins.
      writeSync(1, `${id} ${last}\n`);
    }
  }));
});
