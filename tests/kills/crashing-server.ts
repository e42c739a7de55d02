/**
 * A server with a tool whose step ends the process. A separate program:
 *
 *     crashing-server.ts '{"folder": "/tmp/…", "crash": "exit"}'
 *
 * It prints its address, that the step began, its faults, and the calls that it has set
 * aside. A line on its input is the id of a call to revive.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { sleep, suspend } from "effection";
import { z } from "zod";
import { type Clock, createMcpTool, createParley, openStore, Sealer } from "../../src/mod.ts";
import { listen } from "../../src/platform/listen.ts";

const plan: { folder: string; crash?: "exit" | "spin" | "late" } = JSON.parse(process.argv[2]!);

/** At once, without a turn of the event loop, which may never come. */
const say = (what: string, value: unknown = "") => {
  writeSync(1, `${what} ${JSON.stringify(value)}\n`);
};

const text = { response: z.object({ text: z.string() }) };

const crashing = createMcpTool("crashing").description("d").durable().elicits({ go: text })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("go", { message: "Go?" });
    return yield* ctx.step("work", function* () {
      say("begun");
      if (plan.crash === "exit") process.exit(3);
      while (plan.crash === "spin");
      if (plan.crash === "late") {
        // Ten seconds on the clock of the server.
        yield* sleep(10_000 / 50);
        process.exit(3);
      }
      return "survived";
    });
  });

const patient = createMcpTool("patient").description("d").durable().elicits({ go: text })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("go", { message: "Go?" });
    return answer.action === "accept" ? answer.content.text : answer.action;
  });

/** Runs whenever a server is there, and never ends. */
const busy = createMcpTool("busy").description("d").durable().elicits({ go: text })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("go", { message: "Go?" });
    yield* ctx.step("endless", function* () {
      say("busy");
      yield* suspend();
    });
    return "never";
  });

/** Fifty times as fast: a running call counts as surviving after some seconds. */
const clock: Clock = {
  now: () => Date.now() * 50,
  after(ms, fire) {
    const timer = setTimeout(fire, ms / 50);
    return () => clearTimeout(timer);
  },
};

const stores = await openStore(`sqlite:${join(plan.folder, "calls.db")}`, "normal");
const parley = createParley({
  serve: [crashing, patient, busy],
  store: stores.sessions,
  clients: stores.clients,
  clock,
  sealer: new Sealer("a key that outlasts the server"),
  report: ({ what, toolName, sessionId }) => say("report", { what, toolName, sessionId }),
});
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
say("listening", `http://127.0.0.1:${port}/mcp`);
const setAside = async () => (await parley.calls.list({ state: "set-aside" })).calls;
createInterface({ input: process.stdin }).on("line", async (id) => {
  say("revived", await parley.calls.revive(id));
  say("left", await setAside());
});
for (;;) {
  const calls = await setAside();
  if (calls.length > 0) {
    say("aside", calls);
    break;
  }
  await new Promise((resolve) => setImmediate(resolve));
}
