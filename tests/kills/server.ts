/**
 * A server that dies at a given point. A separate program:
 *
 *     server.ts '{"folder": "/tmp/…", "kill": {"flow": "1", "point": "before who"}}'
 *
 * It prints its address, in one line, and runs until it is killed.
 */
import { join } from "node:path";
import process from "node:process";
// Imported one by one, not from `mod.ts`: it is started hundreds of times.
import { listen } from "../../src/platform/listen.ts";
import { createParley } from "../../src/parley.ts";
import { Sealer } from "../../src/lib/sealer.ts";
import { openSqlite } from "../../src/store/sqlite/stores.ts";
import { type KillPlan, KillPoints } from "./kill-points.ts";
import { makeTools } from "./tools.ts";

const plan: KillPlan & { folder: string } = JSON.parse(process.argv[2]!);
const points = new KillPoints(plan);
// Durable against the death of a process, not of the machine: that is what is tested here.
const stores = openSqlite(join(plan.folder, "store.db"), "normal");
const parley = createParley({
  formPasswords: true,
  serve: makeTools(points, join(plan.folder, "effects")),
  store: points.overSessions(stores.sessions),
  clients: points.overClients(stores.clients),
  sealer: new Sealer("a key that outlasts the server"),
});
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
console.log(`http://127.0.0.1:${port}/mcp`);
