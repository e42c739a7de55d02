/**
 * The server for the exhaustion scenarios. Prints its port. Named callers send their name in the
 * header `x-name`. `GET /standing` collects garbage and returns the server's figures.
 *
 *     parley-exhaust.ts named|anonymous [path of a SQLite store]
 */
import process from "node:process";
import { z } from "zod";
import { listen } from "../../src/platform/listen.ts";
import { createMcpTool, createParley, openStore } from "../../src/mod.ts";
import { heapMeter } from "../kit/heap.ts";

const [callers, path] = process.argv.slice(2);

const waits = createMcpTool("waits").description("Takes a text, and waits")
  .parameters(z.object({ text: z.string().default("") }))
  .elicits({ ok: { response: z.object({ ok: z.boolean() }) } })
  .execute(function* (_params, ctx) {
    const { action } = yield* ctx.elicit("ok", { message: "Go on?" });
    return action;
  });

const keeps = createMcpTool("keeps").description("Takes a text, waits, and outlasts a restart")
  .parameters(z.object({ text: z.string().default("") }))
  .durable()
  .elicits({ ok: { response: z.object({ ok: z.boolean() }) } })
  .execute(function* ({ text }, ctx) {
    const { action } = yield* ctx.elicit("ok", { message: `Go on? ${text}` });
    return action;
  });

const login = createMcpTool("login").description("Leaves a page for ten minutes")
  .execute(function* (_params, ctx) {
    const page = yield* ctx.usePage({
      *respond() {
        return new Response("here");
      },
      stays: 600_000,
    });
    return page.url;
  });

const stores = path === undefined ? undefined : await openStore(`sqlite:${path}`);
let address = "";
const parley = createParley({
  serve: [waits, keeps, login],
  publicUrl: () => address,
  ...(callers === "named" && { principal: (request) => request.headers.get("x-name") ?? "" }),
  // Calls leave memory soon, so that the store fills up first.
  limits: { passivateAfter: 200 },
  ...(stores && { store: stores.sessions, clients: stores.clients }),
});
const heap = await heapMeter();
const { port } = await listen((request) => {
  if (!request.url.endsWith("/standing")) return parley.fetch(request);
  return Promise.resolve(Response.json({ heap: heap() / 1_048_576, ...parley.counts }));
}, { port: 0, hostname: "127.0.0.1" });
address = `http://127.0.0.1:${port}`;
console.log(port);
