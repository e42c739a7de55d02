import assert from "node:assert/strict";
import { action, run, suspend } from "effection";
import { z } from "zod";
import { Sealer } from "../../src/lib/sealer.ts";
import type { CallFilter } from "../../src/model/calls.ts";
import { CallActionError, RegistryClosedError } from "../../src/model/errors.ts";
import type { RegistryOptions } from "../../src/registry/options.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { Definition } from "../../src/tool/types.ts";
import { describe, it } from "../suite.ts";
import { ended, textOf, until } from "../support/registry.ts";

const text = { response: z.object({ text: z.string() }) };
const login = {
  response: z.object({ user: z.string(), password: z.string() }),
  sensitive: ["password"],
};

const plain = createMcpTool("plain").description("d").elicits({ go: text })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("go", { message: "Go on?" });
    return answer.action === "accept" ? `${answer.content.text} via ${answer.via}` : answer.action;
  });

const durable = createMcpTool("durable").description("d").durable({ version: "1" })
  .elicits({ go: text, login, me: { ...text, by: "signed-in" } })
  .execute(function* (_params, ctx) {
    yield* ctx.notify("begun");
    const answer = yield* ctx.elicit("go", { message: "Go on?" });
    if (answer.action !== "accept") return answer.action;
    if (answer.content.text === "login") {
      const { action } = yield* ctx.elicit("login", { message: "Who?" });
      return action;
    }
    return yield* ctx.step("work", function* () {
      if (answer.content.text === "work") yield* suspend();
      return `${answer.content.text} via ${answer.via}`;
    });
  });

const TOOLS: readonly Definition[] = [plain, durable];

function server(options: RegistryOptions = {}) {
  const clock = createManualClock();
  const registry = new LiveToolSessionRegistry({
    clock,
    find: (_kind, name) => TOOLS.find((tool) => tool.name === name),
    report: () => {},
    sealer: new Sealer("a key that all servers of a test share"),
    ...options,
  });
  return { clock, registry, calls: registry.calls };
}

/** Opens a call, and waits until it asks. */
async function opened(
  registry: LiveToolSessionRegistry,
  tool: Definition,
  principal = "",
  name = "client",
) {
  await Promise.resolve();
  const session = registry.open(tool, {}, {
    principal,
    client: { name, version: "1", capabilities: { elicitation: { form: {} } } },
  });
  await until(() => session.openRequests().length > 0);
  return session;
}

const accept = (text: string) => ({ action: "accept", content: { text } }) as const;

function reasonOf(error: unknown): string {
  assert.ok(error instanceof CallActionError, String(error));
  return error.reason;
}

describe("calls.list()", () => {
  it("lists calls in memory and in the store, the oldest question first", async () => {
    const store = new InMemoryToolSessionStore();
    const first = server({ store });
    const stored = await opened(first.registry, durable, "ann");
    await first.registry.close();
    const { registry, clock, calls } = server({ store });
    clock.advance(1_000);
    const live = await opened(registry, plain, "bob", "other");
    clock.advance(1_000);
    const done = registry.open(plain, {}, { answers: new Map([["go", accept("x")]]) });
    await ended(done);
    const { calls: all, total, next } = await calls.list();
    assert.deepEqual([total, next], [3, undefined]);
    assert.deepEqual(
      all.map(({ id, tool, state, inMemory, principal }) => [id, tool, state, inMemory, principal]),
      [
        [stored.id, "durable", "waiting", false, "ann"],
        [live.id, "plain", "waiting", true, "bob"],
        [done.id, "plain", "completed", true, ""],
      ],
    );
    const [{ questions: [question] }] = all as [typeof all[number]];
    assert.deepEqual(
      [question!.key, question!.awaits, question!.door, question!.message],
      ["go", "person", "form", "Go on?"],
    );
    assert.equal(question!.since, stored.createdAt);
    await registry.close();
  });

  it("filters by tool, principal, client, state, door and age", async () => {
    const { registry, clock, calls } = server();
    const one = await opened(registry, plain, "ann");
    clock.advance(60_000);
    const two = await opened(registry, durable, "bob", "other");
    const cases: [CallFilter, string[]][] = [
      [{ tool: "plain" }, [one.id]],
      [{ principal: "bob" }, [two.id]],
      [{ client: "other" }, [two.id]],
      [{ state: "waiting" }, [one.id, two.id]],
      [{ state: ["completed", "running"] }, []],
      [{ door: "form" }, [one.id, two.id]],
      [{ door: "page" }, []],
      [{ olderThan: 30_000 }, [one.id]],
      [{ order: "newest" }, [two.id, one.id]],
      [{ order: "oldest" }, [one.id, two.id]],
    ];
    for (const [filter, ids] of cases) {
      const page = await calls.list(filter);
      assert.deepEqual(page.calls.map(({ id }) => id), ids, JSON.stringify(filter));
      assert.equal(page.total, ids.length);
    }
    await registry.close();
  });

  it("returns pages that contain each call once, and refuses a cursor that it did not make", async () => {
    const store = new InMemoryToolSessionStore();
    const { registry, clock, calls } = server({ store });
    const ids = new Set<string>();
    for (let n = 0; n < 7; n++) {
      ids.add((await opened(registry, n % 2 ? plain : durable)).id);
      clock.advance(n % 3);
    }
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await calls.list({ limit: 2, ...(after !== undefined && { after }) });
      assert.equal(page.total, 7);
      found.push(...page.calls.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    assert.equal(found.length, 7);
    assert.deepEqual(new Set(found), ids);
    await assert.rejects(calls.list({ after: "x" }), (error) => reasonOf(error) === "invalid");
    await registry.close();
    await assert.rejects(calls.list(), RegistryClosedError);
  });
});

describe("calls.get() and calls.events()", () => {
  it("show a call and a window of its log, in memory and in the store alike", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server({ store });
    const { id } = await opened(one.registry, durable, "ann");
    one.clock.advance(5_000);
    const inMemory = (await one.calls.get(id))!;
    const windows = [{}, { from: 2 }, { from: 1, limit: 1 }, { from: 9 }];
    const here = await Promise.all(windows.map((window) => one.calls.events(id, window)));
    assert.deepEqual(here[0]!.events.map(({ type }) => type), ["progress", "elicit_request"]);
    assert.deepEqual(here[2]!.events.map(({ lsn }) => lsn), [1]);
    assert.deepEqual(here[3], { events: [], firstLSN: 1, lastLSN: 2 });
    assert.deepEqual([inMemory.waitingTime, inMemory.workingTime], [5_000, 0]);
    assert.deepEqual([inMemory.toolVersion, inMemory.takeovers, inMemory.params], ["1", 0, {}]);
    await one.registry.close();
    const two = server({ store, clock: one.clock });
    const inStore = (await two.calls.get(id))!;
    const { inMemory: _here, ...expected } = inMemory;
    const { inMemory: isHere, ...found } = inStore;
    assert.equal(isHere, false);
    assert.deepEqual(found, expected);
    assert.deepEqual(
      await Promise.all(windows.map((window) => two.calls.events(id, window))),
      here,
    );
    assert.equal(two.registry.counts.live, 0, "looking does not resume it");
    assert.equal(await two.calls.get("nobody"), undefined);
    assert.equal(await two.calls.events("nobody"), undefined);
    await two.registry.close();
  });

  it("read events from the record that the log in memory no longer keeps", async () => {
    const chatty = createMcpTool("chatty").description("d").durable().elicits({ go: text })
      .execute(function* (_params, ctx) {
        for (let n = 0; n < 50; n++) yield* ctx.notify(`${n}`);
        yield* ctx.elicit("go", { message: "?" });
        return "";
      });
    const { registry, calls } = server({ limits: { maxEventsPerSession: 10 } });
    const session = registry.open(chatty, {}, { awaited: false });
    await until(() => session.openRequests().length > 0);
    assert.ok(session.log.firstLSN > 1);
    const { events, firstLSN, lastLSN } = (await calls.events(session.id, { from: 1, limit: 3 }))!;
    assert.deepEqual([events.map(({ lsn }) => lsn), firstLSN, lastLSN], [[1, 2, 3], 1, 51]);
    await registry.close();
  });

  it("show no secret: neither the value nor its sealed form", async () => {
    const store = new InMemoryToolSessionStore();
    const { registry, calls } = server({ store });
    const { id } = await opened(registry, durable);
    await calls.answer(id, "go", accept("login"));
    await until(() => registry.find(id)!.openRequests().length > 0);
    const secret = "correct horse";
    await calls.answer(id, "login", {
      action: "accept",
      content: { user: "ann", password: secret },
    });
    await ended(registry.find(id)!);
    const raw = JSON.stringify(await run(() => store.read(id)));
    assert.ok(raw.includes('"sealed"'), "the record has it sealed");
    const shown = JSON.stringify([await calls.get(id), await calls.events(id), await calls.list()]);
    assert.ok(!shown.includes(secret) && !shown.includes("sealed"), shown);
    assert.ok(shown.includes("ann"));
    await registry.close();
  });
});

describe("calls.answer()", () => {
  it("answers as the operator, in memory and from the store", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server({ store });
    const stored = await opened(one.registry, durable);
    await one.registry.close();
    const { registry, calls } = server({ store });
    const live = await opened(registry, plain);
    for (const id of [live.id, stored.id]) {
      assert.equal(await calls.answer(id, "go", accept("yes")), "accepted");
      assert.equal(await textOf(registry.find(id)!), "yes via operator");
      assert.equal(await calls.answer(id, "go", accept("no")), "ended");
    }
    const { events } = (await calls.events(stored.id))!;
    const answer = events.find(({ type }) => type === "answer");
    assert.ok(answer?.type === "answer" && answer.via === "operator");
    await registry.close();
  });

  it("refuses what is not open, not valid, or not for operators, and changes nothing", async () => {
    const signed = createMcpTool("signed").description("d").elicits({
      me: { ...text, by: "signed-in" },
    })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("me", { message: "?" });
        return "";
      });
    const { registry, calls } = server({
      // A server with a door for the person who is signed in.
      site: {
        local: true,
        url: undefined,
        formPasswords: true,
        doors: { choose: () => "page", isUnseen: () => false },
        open: () => suspend() as never,
      },
    } as RegistryOptions);
    const live = await opened(registry, plain);
    const mine = await opened(registry, signed);
    const [question] = (await calls.get(mine.id))!.questions;
    assert.equal(question!.awaits, "signed-in");
    const refused = async (...args: Parameters<typeof calls.answer>) =>
      await calls.answer(...args).then(() => "accepted", reasonOf);
    assert.equal(await refused(mine.id, "me", accept("x")), "not_allowed");
    assert.equal(await refused("nobody", "go", accept("x")), "not_found");
    assert.equal(await refused(live.id, "other", accept("x")), "not_open");
    assert.equal(
      await refused(live.id, "go", { action: "accept", content: { text: 1 } }),
      "invalid",
    );
    assert.equal(await refused(live.id, "go", { action: "accept" }), "invalid");
    assert.equal(await refused(live.id, "go", { action: "take" as "accept" }), "invalid");
    assert.equal((await calls.get(live.id))!.lastLSN, 1);
    assert.equal(await refused(live.id, "go", { action: "decline" }), "accepted");
    await registry.close();
  });

  it("says that a server without the tool cannot answer, and keeps the call", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server({ store });
    const { id } = await opened(one.registry, durable);
    await one.registry.close();
    const { registry, calls } = server({ store, find: () => undefined });
    const [question] = (await calls.get(id))!.questions;
    assert.ok(question!.refused);
    await assert.rejects(calls.answer(id, "go", accept("x")), (e) => reasonOf(e) === "not_here");
    assert.equal((await calls.get(id))!.state, "waiting");
    await registry.close();
  });
});

describe("calls and a server that stops", () => {
  /** A store that a dead server can no longer write to. */
  class DyingStore extends InMemoryToolSessionStore {
    isDead = false;
    override *append(...args: Parameters<InMemoryToolSessionStore["append"]>) {
      if (this.isDead) throw new Error("the server is dead");
      yield* super.append(...args);
    }
    override *set(...args: Parameters<InMemoryToolSessionStore["set"]>) {
      if (this.isDead) throw new Error("the server is dead");
      yield* super.set(...args);
    }
  }

  it("keep an answer and a cancellation that were reported as done, although the server crashes", async () => {
    const store = new DyingStore();
    const one = server({ store });
    const { id } = await opened(one.registry, durable);
    const other = await opened(one.registry, durable);
    assert.equal(await one.calls.answer(id, "go", accept("work")), "accepted");
    assert.equal(await one.calls.cancel(other.id), true);
    store.isDead = true;
    await one.registry.close();
    store.isDead = false;
    const { registry, calls } = server({ store });
    const { events } = (await calls.events(id))!;
    assert.ok(events.some((event) => event.type === "answer" && event.via === "operator"));
    assert.equal((await calls.get(id))!.state, "running");
    assert.equal((await calls.get(other.id))!.state, "cancelled");
    await registry.close();
  });

  it("do not report an answer that could not be stored", async () => {
    const store = new DyingStore();
    const { registry, calls } = server({ store });
    const { id } = await opened(registry, durable);
    store.isDead = true;
    await assert.rejects(calls.answer(id, "go", accept("x")), (e) => reasonOf(e) === "not_here");
    await registry.close();
  });

  it("end a list that is being read when the registry closes", async () => {
    class SlowStore extends InMemoryToolSessionStore {
      override *list(): ReturnType<InMemoryToolSessionStore["list"]> {
        yield* suspend();
        return [];
      }
    }
    const { registry, calls } = server({ store: new SlowStore() });
    const listing = calls.list().then(() => "listed", () => "ended");
    await until(() => true);
    await registry.close();
    assert.equal(await listing, "ended");
  });
});

describe("calls.cancel() and calls.revive()", () => {
  it("cancel a call in memory, in the store, and without its tool", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server({ store });
    const stored = await opened(one.registry, durable);
    const orphan = await opened(one.registry, durable);
    const live = await opened(one.registry, plain);
    assert.equal(await one.calls.cancel(live.id, "enough"), true);
    assert.deepEqual(live.outcome, { status: "cancelled", reason: "enough" });
    assert.equal(await one.calls.cancel(live.id), false);
    await one.registry.close();
    const two = server({ store });
    assert.equal(await two.calls.cancel(stored.id), true);
    assert.equal((await two.calls.get(stored.id))!.state, "cancelled");
    await two.registry.close();
    const three = server({ store, find: () => undefined });
    assert.equal(await three.calls.cancel(orphan.id), true);
    assert.equal(await three.calls.cancel(orphan.id), false);
    assert.equal((await three.calls.get(orphan.id))!.state, "cancelled");
    await assert.rejects(three.calls.cancel("nobody"), (e) => reasonOf(e) === "not_found");
    await three.registry.close();
  });

  it("revive a call that is set aside, and cancel one", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server({ store });
    const ids = [
      (await opened(one.registry, durable)).id,
      (await opened(one.registry, durable)).id,
    ];
    await one.registry.close();
    for (const id of ids) for (let n = 0; n < 3; n++) await run(() => store.take(id));
    const { registry, calls } = server({ store });
    for (const id of ids) await Promise.resolve(registry.lookup(id)).catch(() => {});
    const { calls: aside } = await calls.list({ state: "set-aside" });
    assert.deepEqual(new Set(aside.map(({ id }) => id)), new Set(ids));
    assert.equal(aside[0]!.setAside!.attempts, 3);
    assert.equal(await calls.revive(ids[0]!), true);
    assert.equal(await calls.revive(ids[0]!), false);
    assert.equal(await calls.cancel(ids[1]!), true);
    assert.equal((await calls.get(ids[1]!))!.state, "cancelled");
    assert.equal((await calls.list({ state: "set-aside" })).total, 0);
    assert.equal(await calls.answer(ids[0]!, "go", accept("on")), "accepted");
    assert.equal(await textOf(registry.find(ids[0]!)!), "on via operator");
    await registry.close();
  });
});

describe("calls.watch()", () => {
  it("reports the changes of all calls, or of one with each event", async () => {
    const { registry, calls } = server();
    assert.equal(calls.watched, false);
    const all = calls.watch();
    assert.equal(calls.watched, true);
    const first = all.next();
    const session = await opened(registry, durable);
    assert.deepEqual((await first).value, {
      id: session.id,
      tool: "durable",
      state: "waiting",
      lastLSN: 2,
    });
    const one = calls.watch(session.id);
    await calls.answer(session.id, "go", accept("yes"));
    await ended(session);
    assert.equal((await one.next()).value!.id, session.id);
    for (let change = (await all.next()).value; change!.state !== "completed";) {
      change = (await all.next()).value;
    }
    await all.return!();
    await one.return!();
    assert.equal(calls.watched, false);
    assert.deepEqual(await all.next(), { done: true, value: undefined });
    await registry.close();
  });

  it("does not keep a waiting call in memory, and reports it when it continues", async () => {
    const { registry, calls, clock } = server({ limits: { passivateAfter: 1_000 } });
    const { id } = await opened(registry, durable);
    const watch = calls.watch(id);
    clock.advance(2_000);
    await until(() => registry.counts.live === 0);
    await calls.answer(id, "go", accept("yes"));
    let change = (await watch.next()).value;
    while (change!.state !== "completed") change = (await watch.next()).value;
    await watch.return!();
    await registry.close();
  });

  it("reports a question when its event is recorded, if the store is slow", async () => {
    let write = () => {};
    class SlowStore extends InMemoryToolSessionStore {
      override *append(...args: Parameters<InMemoryToolSessionStore["append"]>) {
        yield* action<void>((resolve) => {
          write = resolve;
          return () => {};
        });
        yield* super.append(...args);
      }
    }
    await Promise.resolve();
    const { registry, calls } = server({ store: new SlowStore() });
    const all = calls.watch();
    const session = registry.open(durable, {});
    const one = calls.watch(session.id);
    assert.equal((await all.next()).value!.lastLSN, 0, "nothing is recorded yet");
    const seen = [all, one].map(async (watch) => {
      let change = (await watch.next()).value;
      while (change!.lastLSN < 2) change = (await watch.next()).value;
      await watch.return!();
    });
    while (session.log.lastLSN < 2) {
      write();
      await Promise.resolve();
    }
    await Promise.all(seen);
    const closing = registry.close();
    const writing = setInterval(() => write());
    await closing;
    clearInterval(writing);
  });

  it("ends when the registry closes, also one that starts later", async () => {
    const { registry, calls } = server();
    const early = calls.watch();
    const waiting = early.next();
    await registry.close();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    const late = calls.watch("nobody");
    assert.deepEqual(await late.next(), { done: true, value: undefined });
    assert.equal(calls.watched, false);
  });
});

describe("calls.replay()", () => {
  it("runs a recorded call again with the loaded code, in memory and in the store", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server({ store });
    const { id } = await opened(one.registry, durable);
    assert.deepEqual((await one.calls.replay(id)).verdict, "same");
    const live = await opened(one.registry, plain);
    assert.deepEqual((await one.calls.replay(live.id)).verdict, "refused");
    await assert.rejects(one.calls.replay("nobody"), (e) => reasonOf(e) === "not_found");
    await one.registry.close();
    const other = createMcpTool("durable").description("d").durable({ version: "2" })
      .elicits({ login }).execute(function* (_params, ctx) {
        yield* ctx.elicit("login", { message: "?" });
        return "";
      });
    const { registry, calls } = server({ store, find: () => other });
    const result = await calls.replay(id);
    assert.deepEqual(
      [result.verdict, result.divergedAt, result.did?.key, result.versions],
      ["diverged", 2, "login", { recorded: "1", loaded: "2" }],
    );
    assert.equal(registry.counts.live, 0, "the call itself does not resume");
    assert.equal((await calls.get(id))!.takeovers, 0);
    await registry.close();
    const none = server({ store, find: () => undefined });
    assert.equal((await none.calls.replay(id)).verdict, "refused");
    await none.registry.close();
  });
});
