/** A process that opens a store, reports it, and keeps it open until it is told to close it. */
import process from "node:process";
import { openSqlite } from "../../../src/store/sqlite/stores.ts";

const stores = openSqlite(process.argv[2]!);
console.log("open");
process.stdin.once("data", () => {
  stores.close();
  console.log("closed");
  process.exit(0);
});
