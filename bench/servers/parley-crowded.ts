/** Parley over HTTP, with a hundred thousand calls parked. */
import { listen } from "../../src/platform/listen.ts";
import { createParley } from "../../src/mod.ts";
import { park } from "../kit/park.ts";
import { serve } from "./tools.ts";

const PARKED = 100_000;

const parley = createParley({ serve, limits: { maxSessions: 2 * PARKED } });
await park(parley, "ask", PARKED);
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
console.log(port);
