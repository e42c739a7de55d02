/**
 * A process that keeps writing to a store until it is killed. It prints the number of events that
 * are stored.
 */
import process from "node:process";
import { run, sleep } from "effection";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";
import { entry, events } from "./kit.ts";

const { sessions } = openSqlite(process.argv[2]!);
const PER_CALL = 40;

await run(function* () {
  for (let call = 0;; call++) {
    const id = `s${call}`;
    // Long enough that SQLite moves its log into the main file again and again.
    const first = events(1, PER_CALL, "x".repeat(4_000));
    yield* sessions.append(id, first, { afterLSN: 0, epoch: 1, entry: entry(id) });
    console.log(String((call + 1) * PER_CALL));
    yield* sleep(5);
  }
});
