import assert from "node:assert/strict";
import { all, type Operation, race, run, until as wait } from "effection";
import { z } from "zod";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import type { RegistryOptions, ServerHooks } from "../../src/registry/options.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { Definition } from "../../src/tool/types.ts";
import { describe, it } from "../suite.ts";
import { ended, idle, textOf, until } from "../support/registry.ts";

const form = { response: z.object({ n: z.number() }) };

/** A durable tool with the questions `a`, `b` and `c`. */
function durable(
  // deno-lint-ignore no-explicit-any
  body: (ctx: any) => Operation<unknown>,
  version = "1",
): Definition {
  return createMcpTool("t").description("d").elicits({ a: form, b: form, c: form })
    .durable({ version })
    .execute(function* (_params, ctx) {
      return String(yield* body(ctx));
    });
}

// deno-lint-ignore no-explicit-any
type Ctx = any;

/** Runs pending work and advances the clock a little until the condition holds. */
async function inTime({ clock }: Servers, condition: () => boolean): Promise<void> {
  for (let n = 0; n < 20 && !condition(); n++) {
    await idle();
    clock.advance(1);
  }
  assert.ok(condition(), `It did not come to this: ${condition}`);
}

/** Several servers, one after the other, with one store. */
class Servers {
  readonly clock = createManualClock();
  readonly store = new InMemoryToolSessionStore();
  readonly registries: LiveToolSessionRegistry[] = [];

  start(tool: Definition, options: RegistryOptions & ServerHooks = {}): LiveToolSessionRegistry {
    const registry = new LiveToolSessionRegistry({
      clock: this.clock,
      store: this.store,
      find: (_kind, name) => name === tool.name ? tool : undefined,
      report: () => {},
      ...options,
      limits: { passivateAfter: Infinity, ...options.limits },
    });
    this.registries.push(registry);
    return registry;
  }

  async end(): Promise<void> {
    for (const registry of this.registries) await registry.close();
    assert.equal(this.clock.timers, 0, "a timer is left");
  }
}

function withServers(body: (servers: Servers) => Promise<void>): () => Promise<void> {
  return async () => {
    await Promise.resolve();
    const servers = new Servers();
    try {
      await body(servers);
    } finally {
      await servers.end();
    }
  };
}

async function taken(registry: LiveToolSessionRegistry, id: string): Promise<LiveToolSession> {
  const session = await registry.lookup(id);
  assert.ok(session, "it is in the store");
  return session;
}

function respond(session: LiveToolSession, key: string, n: number): void {
  const request = session.openRequests().find(({ place }) => place.key === key);
  assert.ok(request, `"${key}" is open, not ${session.openRequests().map((r) => r.place.key)}`);
  assert.equal(session.respond(request.id, { action: "accept", content: { n } }), "accepted");
}

describe("a durable tool that is revived by another server", () => {
  it(
    "continues where it was, and does nothing twice",
    withServers(async (servers) => {
      const done: string[] = [];
      const tool = durable(function* (ctx) {
        yield* ctx.step("first", function* (key: string) {
          done.push(key);
        });
        const a = yield* ctx.elicit("a", { message: "a?" });
        const paid = yield* ctx.step("pay", function* (key: string) {
          done.push(key);
          return { receipt: a.content.n };
        });
        yield* ctx.notify("paid");
        const b = yield* ctx.elicit("b", { message: "b?" });
        return paid.receipt + b.content.n;
      });
      const session = servers.start(tool).open(tool, {});
      respond(session, "a", 40);
      await until(() => session.openRequests().length === 1);
      const before = session.log.after(0);
      const again = await taken(servers.start(tool), session.id);
      assert.deepEqual(again.log.after(0), before, "nothing is said twice");
      assert.deepEqual(again.openRequests(), session.openRequests(), "the same question is open");
      respond(again, "b", 2);
      assert.equal(await textOf(again), "42");
      assert.equal(done.length, 2);
      assert.equal(new Set(done).size, 2, "each step has a key of its own");
    }),
  );

  it(
    "cannot be changed any more by its former server",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        return (yield* ctx.elicit("a", { message: "a?" })).content.n;
      });
      const first = servers.start(tool).open(tool, {});
      const second = await taken(servers.start(tool), first.id);
      respond(first, "a", 1);
      const outcome = await ended(first);
      assert.equal(outcome.status, "failed", "its record is somebody else's now");
      respond(second, "a", 2);
      assert.equal(await textOf(second), "2");
    }),
  );

  it(
    "gives every branch its own answers, whatever their order",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        const branch = (key: string) =>
          ctx.branch(function* (inner: typeof ctx) {
            const first = yield* inner.elicit(key, { message: key });
            const second = yield* inner.elicit("c", { message: `${key} again` });
            return first.content.n * 10 + second.content.n;
          });
        return (yield* all([branch("a"), branch("b")])).join();
      });
      const one = servers.start(tool).open(tool, {});
      await until(() => one.openRequests().length === 2);
      respond(one, "b", 7);
      await until(() => one.openRequests().some(({ place }) => place.key === "c"));
      const two = await taken(servers.start(tool), one.id);
      await until(() => two.openRequests().length === 2);
      assert.deepEqual(
        two.openRequests().map(({ id }) => id).sort(),
        one.openRequests().map(({ id }) => id).sort(),
      );
      respond(two, "c", 8);
      respond(two, "a", 5);
      await until(() => two.openRequests().length === 1);
      respond(two, "c", 6);
      assert.equal(await textOf(two), "56,78");
    }),
  );

  it(
    "lets the same branch win a race as before",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        const winner = yield* race([
          ctx.sleep(1_000),
          ctx.elicit("a", { message: "a?" }),
        ]);
        const b = yield* ctx.elicit("b", { message: "b?" });
        return `${winner ? "answered" : "slept"} ${b.content.n}`;
      });
      const one = servers.start(tool).open(tool, {});
      await until(() => one.openRequests().length === 1);
      respond(one, "a", 1);
      await until(() => one.openRequests()[0]?.place.key === "b");
      servers.clock.advance(5_000);
      const two = await taken(servers.start(tool), one.id);
      await until(() => two.openRequests().length === 1);
      respond(two, "b", 3);
      assert.equal(await textOf(two), "answered 3");
    }),
  );

  it(
    "does not sleep longer because it was revived, and wakes by itself",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        const start = yield* ctx.now();
        yield* ctx.sleep(10_000);
        return (yield* ctx.now()) - start;
      });
      const one = servers.start(tool).open(tool, {});
      servers.clock.advance(6_000);
      const two = await taken(servers.start(tool), one.id);
      await idle();
      assert.equal(two.outcome, undefined);
      servers.clock.advance(4_000);
      assert.equal(await textOf(two), "10000");
    }),
  );

  it(
    "sees the same time, random numbers, ids and errors",
    withServers(async (servers) => {
      const seen: unknown[] = [];
      const tool = durable(function* (ctx) {
        const values = [yield* ctx.now(), yield* ctx.random(), yield* ctx.uuid()];
        let error: Error | undefined;
        try {
          yield* ctx.step("fail", function* () {
            throw new RangeError("no");
          });
        } catch (caught) {
          error = caught as Error;
        }
        seen.push([...values, error!.name, error!.message]);
        yield* ctx.elicit("a", { message: "a?" });
        return "done";
      });
      const one = servers.start(tool).open(tool, {});
      await until(() => one.openRequests().length === 1);
      servers.clock.advance(1_000);
      const two = await taken(servers.start(tool), one.id);
      await until(() => two.openRequests().length === 1);
      assert.equal(seen.length, 2);
      assert.deepEqual(seen[1], seen[0]);
    }),
  );

  it(
    "gets back the answers to sensitive questions, which the record does not show",
    withServers(async (servers) => {
      const tool = createMcpTool("t").description("d").durable()
        .elicits({
          login: { response: z.object({ password: z.string() }), sensitive: ["password"] },
          b: form,
        })
        .execute(function* (_params, ctx) {
          const login = yield* ctx.elicit("login", { message: "?" });
          yield* ctx.elicit("b", { message: "?" });
          return login.action === "accept" ? login.content.password : "";
        });
      const registry = servers.start(tool);
      const one = registry.open(tool, {});
      one.respond(one.openRequests()[0]!.id, {
        action: "accept",
        content: { password: "hunter2" },
      });
      await until(() => one.openRequests()[0]?.place.key === "b");
      assert.ok(!JSON.stringify(one.log.after(0)).includes("hunter2"));
      const two = await taken(servers.start(tool, { sealer: registry.sealer }), one.id);
      await until(() => two.openRequests().length === 1);
      respond(two, "b", 1);
      assert.equal(await textOf(two), "hunter2");
    }),
  );

  it(
    "can be read after its end, and does not run again",
    withServers(async (servers) => {
      let runs = 0;
      const tool = durable(function* () {
        runs++;
        return "done";
      });
      const one = servers.start(tool).open(tool, {});
      assert.equal(await textOf(one), "done");
      const two = await taken(servers.start(tool), one.id);
      assert.equal(await textOf(two), "done");
      assert.equal(runs, 1);
    }),
  );
});

describe("a durable tool that differs from its record", () => {
  it(
    "fails at that point, names what was recorded and what was asked, and does nothing more",
    withServers(async (servers) => {
      let effects = 0;
      const version = (first: string): Definition =>
        durable(function* (ctx) {
          const answer = yield* ctx.elicit(first, { message: "?" });
          yield* ctx.step("effect", function* () {
            effects++;
          });
          yield* ctx.elicit("c", { message: "?" });
          return answer.content.n;
        });
      const one = servers.start(version("a")).open(version("a"), {});
      respond(one, "a", 1);
      await until(() => one.openRequests()[0]?.place.key === "c");
      assert.equal(effects, 1);
      const two = await taken(servers.start(version("b")), one.id);
      const outcome = await ended(two);
      assert.equal(outcome.status, "failed");
      const { message } = (outcome as { error: { message: string } }).error;
      assert.match(message, /elicit "a" was recorded, but elicit "b" was asked/);
      assert.equal(effects, 1);
    }),
  );

  it(
    "fails if it ends before it has repeated everything recorded",
    withServers(async (servers) => {
      const asks = durable(function* (ctx) {
        yield* ctx.elicit("a", { message: "?" });
        yield* ctx.elicit("b", { message: "?" });
        return "";
      });
      const hasty = durable(function* () {
        return "already done";
      });
      const one = servers.start(asks).open(asks, {});
      respond(one, "a", 1);
      await until(() => one.openRequests()[0]?.place.key === "b");
      const two = await taken(servers.start(hasty), one.id);
      const outcome = await ended(two);
      assert.match(JSON.stringify(outcome), /was recorded, but the tool ended without it/);
    }),
  );

  it(
    "fails if it leaves out what others wait for, instead of waiting for ever",
    withServers(async (servers) => {
      const asks = (keys: readonly string[]) =>
        durable(function* (ctx) {
          yield* all(
            keys.map((key) =>
              ctx.branch((inner: typeof ctx) => inner.elicit(key, { message: key }))
            ),
          );
          return "done";
        });
      const first = asks(["a", "b"]);
      const one = servers.start(first).open(first, {});
      await until(() => one.openRequests().length === 2);
      respond(one, "a", 1);
      await idle();
      const second = asks(["a"]);
      const two = await taken(servers.start(second), one.id);
      await idle();
      assert.equal(two.outcome, undefined);
      servers.clock.advance(5 * 60_000);
      const outcome = await ended(two);
      assert.match(
        JSON.stringify(outcome),
        /elicit \\"b\\" in branch \/1 was recorded, but the tool does not reach it/,
      );
    }),
  );

  it(
    "is not revived by another version of itself",
    withServers(async (servers) => {
      let runs = 0;
      const version = (name: string): Definition =>
        durable(function* (ctx) {
          runs++;
          yield* ctx.elicit("a", { message: "?" });
          return "";
        }, name);
      const one = servers.start(version("1")).open(version("1"), {});
      const two = await taken(servers.start(version("2")), one.id);
      const outcome = await ended(two);
      assert.match(
        JSON.stringify(outcome),
        /version 1 of the tool began this call, but this server has version 2/,
      );
      assert.equal(runs, 1);
    }),
  );
});

describe("ctx.step()'s body", () => {
  for (
    const [what, inner] of Object.entries({
      "do another": (ctx: Ctx) => ctx.step("inner", function* () {}),
      "ask": (ctx: Ctx) => ctx.elicit("a", { message: "?" }),
      "look at the time": (ctx: Ctx) => ctx.now(),
      "sleep": (ctx: Ctx) => ctx.sleep(1),
    })
  ) {
    it(
      `may not ${what}: it would be missing when the tool runs again`,
      withServers(async (servers) => {
        const tool = durable(function* (ctx) {
          try {
            return yield* ctx.step("outer", () => inner(ctx));
          } catch (error) {
            return (error as Error).message;
          }
        });
        const session = servers.start(tool).open(tool, {});
        assert.match(await textOf(session), /^Cannot .* inside step "outer": .* do this outside/);
      }),
    );
  }

  it(
    "does not affect concurrent steps, even while it waits",
    withServers(async (servers) => {
      let open!: () => void;
      const gate = new Promise<void>((resolve) => open = resolve);
      const tool = durable(function* (ctx) {
        const slow = ctx.step("slow", function* () {
          yield* wait(gate);
          return 1;
        });
        const quick = ctx.step("quick", function* () {
          open();
          return 2;
        });
        return (yield* all([slow, quick])).join();
      });
      assert.equal(await textOf(servers.start(tool).open(tool, {})), "1,2");
    }),
  );
});

describe("a durable tool that sleeps", () => {
  const sleeper = (log: string[] = []) =>
    durable(function* (ctx) {
      yield* ctx.step("before", function* () {
        log.push("before");
      });
      yield* ctx.sleep(3_600_000);
      yield* ctx.step("after", function* () {
        log.push("after");
      });
      return "rested";
    });

  it(
    "leaves memory, and is woken once, when its time has come",
    withServers(async (servers) => {
      const log: string[] = [];
      const tool = sleeper(log);
      const woken: string[] = [];
      const registry = servers.start(tool, {
        limits: { passivateAfter: 1_000 },
        woken: ({ id }) => woken.push(id),
      });
      const { id } = registry.open(tool, {});
      await idle();
      servers.clock.advance(1_000);
      await until(() => registry.counts.live === 0);
      servers.clock.advance(3_598_000);
      await idle();
      assert.deepEqual(woken, []);
      servers.clock.advance(1_000);
      await inTime(servers, () => registry.counts.finished === 1);
      assert.deepEqual(woken, [id]);
      assert.deepEqual(log, ["before", "after"]);
    }),
  );

  it(
    "continues by itself with the next server, in time or late",
    withServers(async (servers) => {
      for (const [slept, left] of [[1_000_000, 2_600_000], [9_000_000, 0]] as const) {
        const log: string[] = [];
        const tool = sleeper(log);
        const first = servers.start(tool);
        const { id } = first.open(tool, {});
        await idle();
        await first.close();
        servers.clock.advance(slept);
        const second = servers.start(tool);
        second.wake();
        await idle();
        servers.clock.advance(left);
        await inTime(servers, () => second.find(id)?.outcome !== undefined);
        assert.deepEqual(log, ["before", "after"]);
      }
    }),
  );

  it(
    "is left alone if it runs for a caller who waits",
    withServers(async (servers) => {
      const log: string[] = [];
      const tool = sleeper(log);
      const first = servers.start(tool);
      const { id } = first.open(tool, {}, { needsCaller: true });
      await idle();
      await first.close();
      servers.clock.advance(9_000_000);
      const second = servers.start(tool);
      second.wake();
      await idle();
      assert.equal(second.counts.live, 0);
      const back = await taken(second, id);
      await inTime(servers, () => back.outcome !== undefined);
      assert.equal(await textOf(back), "rested");
    }),
  );
});

describe("a durable tool that was running when its server died", () => {
  it(
    "continues by itself with the next server; one that waits stays on disk",
    withServers(async (servers) => {
      let runs = 0;
      const tool = durable(function* (ctx) {
        yield* ctx.elicit("a", { message: "?" });
        yield* ctx.step("effect", function* () {
          if (runs++ === 0) yield* wait(new Promise(() => {}));
        });
        return "done";
      });
      const first = servers.start(tool);
      const [waits, works] = [first.open(tool, {}), first.open(tool, {})];
      respond(works, "a", 1);
      await until(() => runs === 1);
      const second = servers.start(tool);
      second.wake();
      await until(() => second.find(works.id)?.outcome !== undefined);
      assert.equal(runs, 2);
      assert.equal(second.find(waits.id), undefined);
    }),
  );

  it(
    "is woken for a question that times out",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        const a = yield* ctx.elicit("a", { message: "?" }, { timeout: 5_000 });
        return a.action;
      });
      const first = servers.start(tool);
      const { id } = first.open(tool, {});
      await idle();
      await first.close();
      const second = servers.start(tool);
      second.wake();
      await idle();
      assert.equal(second.counts.live, 0);
      servers.clock.advance(5_000);
      await idle();
      servers.clock.advance(1);
      assert.equal(await textOf(second.find(id)!), "timeout");
    }),
  );

  it(
    "is revived in batches, however many there are",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        yield* ctx.sleep(1_000);
        return "done";
      });
      const first = servers.start(tool);
      for (let n = 0; n < 200; n++) first.open(tool, {});
      await idle();
      await first.close();
      servers.clock.advance(1_000);
      const second = servers.start(tool);
      second.wake();
      await inTime(servers, () => second.counts.finished === 200);
    }),
  );
});

describe("a durable tool whose server died while it was being cancelled", () => {
  it(
    "does not run again, and ends as cancelled",
    withServers(async (servers) => {
      let runs = 0;
      let clean!: () => void;
      const cleaned = new Promise<void>((resolve) => clean = resolve);
      const tool = durable(function* (ctx) {
        runs++;
        try {
          return (yield* ctx.elicit("a", { message: "?" })).content.n;
        } finally {
          yield* wait(cleaned);
        }
      });
      const session = servers.start(tool).open(tool, {});
      session.halt("no longer wanted", "caller");
      await idle();
      const second = servers.start(tool);
      second.wake();
      await until(() => second.find(session.id)?.outcome !== undefined);
      assert.deepEqual(second.find(session.id)!.outcome, {
        status: "cancelled",
        reason: "no longer wanted",
      });
      assert.equal(runs, 1);
      clean();
    }),
  );
});

describe("a durable tool that leaves memory", () => {
  it(
    "does so when it waits without readers, and is revived when it is requested",
    withServers(async (servers) => {
      let left = 0;
      const tool = durable(function* (ctx) {
        try {
          return (yield* ctx.elicit("a", { message: "?" })).content.n;
        } finally {
          left++;
        }
      });
      const registry = servers.start(tool, { limits: { passivateAfter: 1_000 } });
      const { id } = registry.open(tool, {});
      servers.clock.advance(1_000);
      await until(() => registry.counts.live === 0);
      assert.equal(left, 1, "its finally blocks have run");
      const back = await taken(registry, id);
      assert.deepEqual(back.log.after(0).map(({ type }) => type), ["elicit_request"]);
      respond(back, "a", 9);
      assert.equal(await textOf(back), "9");
    }),
  );

  it(
    "is not cancelled when its server closes",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        return (yield* ctx.elicit("a", { message: "?" })).content.n;
      });
      const first = servers.start(tool);
      const { id } = first.open(tool, {});
      await first.close();
      const back = await taken(servers.start(tool), id);
      respond(back, "a", 4);
      assert.equal(await textOf(back), "4");
    }),
  );

  it(
    "is revived only after it has left, however long its finally blocks take",
    withServers(async (servers) => {
      let leave!: () => void;
      const leaving = new Promise<void>((resolve) => leave = resolve);
      const tool = durable(function* (ctx) {
        try {
          return (yield* ctx.elicit("a", { message: "?" })).content.n;
        } finally {
          yield* wait(leaving);
        }
      });
      const registry = servers.start(tool);
      const session = registry.open(tool, {});
      registry.suspend(session);
      const looking = taken(registry, session.id);
      await idle();
      assert.equal(session.suspending, true);
      leave();
      const back = await looking;
      assert.notEqual(back, session);
      respond(back, "a", 5);
      assert.equal(await textOf(back), "5");
    }),
  );

  it(
    "still has a status, and can be cancelled and acquired",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        return (yield* ctx.elicit("a", { message: "?" })).content.n;
      });
      const registry = servers.start(tool, { limits: { passivateAfter: 1_000 } });
      const [one, two] = [registry.open(tool, {}), registry.open(tool, {})];
      servers.clock.advance(1_000);
      await until(() => registry.counts.live === 0);
      assert.equal(await run(() => registry.handle(one).status()), "awaiting_elicit");
      const back = await run(() => registry.acquire(one.id));
      assert.equal(back.id, one.id);
      await run(() => registry.handle(two).cancel("no longer wanted"));
      const ended = await run(() => registry.get(two.id));
      assert.equal(await run(() => ended!.status()), "cancelled");
    }),
  );

  it(
    "stays while somebody reads it",
    withServers(async (servers) => {
      const tool = durable(function* (ctx) {
        return (yield* ctx.elicit("a", { message: "?" })).content.n;
      });
      const registry = servers.start(tool, { limits: { passivateAfter: 1_000 } });
      const session = registry.open(tool, {});
      const stop = session.log.watch(() => {});
      servers.clock.advance(5_000);
      await idle();
      assert.equal(registry.counts.live, 1);
      stop();
      servers.clock.advance(1_000);
      await until(() => registry.counts.live === 0);
    }),
  );

  it(
    "records nothing, and asks nothing, in a finally block while it leaves",
    withServers(async (servers) => {
      const refused: string[] = [];
      const tool = durable(function* (ctx) {
        try {
          return (yield* ctx.elicit("a", { message: "?" })).content.n;
        } finally {
          for (const what of ["step", "elicit", "sleep"]) {
            try {
              if (what === "step") yield* ctx.step("s", function* () {});
              else if (what === "elicit") yield* ctx.elicit("b", { message: "?" });
              else yield* ctx.sleep(1);
            } catch (error) {
              refused.push((error as { code: string }).code);
            }
          }
          yield* ctx.notify("leaving");
        }
      });
      const registry = servers.start(tool);
      const session = registry.open(tool, {});
      registry.suspend(session);
      await until(() => registry.counts.live === 0);
      assert.deepEqual(refused, Array(3).fill("PARLEY_SESSION_HALTED"));
      assert.equal(session.log.lastLSN, 1);
    }),
  );
});
