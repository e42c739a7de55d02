/**
 * Parley over HTTP with its console. Arguments: how many calls are parked, and how many events the
 * log of each has. Prints the port, and a link that opens the console.
 */
import process from "node:process";
import { z } from "zod";
import { createMcpTool, createParley } from "../../src/mod.ts";
import { listen } from "../../src/platform/listen.ts";
import { park } from "../kit/park.ts";
import { serve } from "./tools.ts";

const [parked = 0, events = 0] = process.argv.slice(2).map(Number);

const busy = createMcpTool("busy").description("Logs, then asks")
  .elicits({ ok: { response: z.object({ ok: z.boolean() }) } })
  .execute(function* (_params, ctx) {
    for (let at = 1; at < events; at++) yield* ctx.log("info", at);
    return (yield* ctx.elicit("ok", { message: "OK?" })).action;
  });

const parley = createParley({
  serve: [...serve, busy],
  localOnly: true,
  console: true,
  limits: {
    maxSessions: 20_000,
    maxMemory: 2 ** 31,
    maxEventsPerSession: 2 * events + 1_000,
    maxEventBytesPerSession: 2 ** 30,
  },
});
await park(parley, "busy", parked);
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
console.log(`${port} http://127.0.0.1:${port}${await parley.consoleLink()}`);
