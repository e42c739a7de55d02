/**
 * A process that opens a store, reports that, and keeps the store open until it gets a command to
 * close it.
 */
import process from "node:process";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";

const stores = openSqlite(process.argv[2]!);
console.log("open");
process.stdin.once("data", () => {
  stores.close();
  console.log("closed");
  process.exit(0);
});
