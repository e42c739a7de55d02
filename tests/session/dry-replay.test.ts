import assert from "node:assert/strict";
import { type Operation, run, sleep } from "effection";
import { z } from "zod";
import { Sealer } from "../../src/lib/sealer.ts";
import type { DryReplay } from "../../src/model/calls.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { dryReplay } from "../../src/session/dry-replay.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { Definition } from "../../src/tool/types.ts";
import { describe, it } from "../suite.ts";
import { ended, until } from "../support/registry.ts";

const form = { response: z.object({ n: z.number() }) };
const secret = { response: z.object({ pin: z.string() }), sensitive: ["pin"] };

/** The effects that steps had. */
const effects: string[] = [];

// deno-lint-ignore no-explicit-any
function tool(body: (ctx: any) => Operation<unknown>, version = "1"): Definition {
  return createMcpTool("t").description("d").elicits({ a: form, b: form, secret })
    .durable({ version }).execute(function* (_params, ctx) {
      return String(yield* body(ctx));
    });
}

const effect = (name: string) =>
  function* () {
    effects.push(name);
    return name;
  };

/** Asks, does a step, notifies, asks again, and does another step. */
const original = tool(function* (ctx) {
  const { content: { n } } = yield* ctx.elicit("a", { message: "?" });
  yield* ctx.step("first", effect("first"));
  yield* ctx.notify("half");
  yield* ctx.random();
  const b = yield* ctx.elicit("b", { message: "?" });
  yield* ctx.step("second", effect("second"));
  return n + b.content.n;
});

const sealer = new Sealer("a key of the test");

/** Runs a call of a tool, answers its questions in turn, and returns its record. */
async function recorded(definition: Definition, ...answers: object[]) {
  await Promise.resolve();
  const store = new InMemoryToolSessionStore();
  const clock = createManualClock();
  const find = () => definition;
  const registry = new LiveToolSessionRegistry({ store, clock, sealer, find, report: () => {} });
  const session: LiveToolSession = registry.open(definition, {});
  for (const content of answers) {
    await until(() => session.openRequests().length > 0);
    session.respond(session.openRequests()[0]!.id, { action: "accept", content: { ...content } });
    await until(() => session.openRequests().length > 0 || session.outcome !== undefined);
  }
  await until(() => session.openRequests().length > 0 || session.outcome !== undefined);
  if (session.outcome) await ended(session);
  const { id } = session;
  await registry.close();
  const entry = (await run(() => store.get(id)))!;
  const events = await run(() => store.read(id));
  return { id, entry, events, store };
}

type Recording = Awaited<ReturnType<typeof recorded>>;

/** Replays a record with other code. Checks that nothing happens. */
async function replayed(
  { id, entry, events, store }: Recording,
  definition: Definition,
  options: { sealer?: Sealer; patience?: number } = { sealer },
): Promise<DryReplay> {
  effects.length = 0;
  const before = JSON.stringify([events, entry]);
  const result = await run(() =>
    dryReplay({
      id,
      definition,
      params: entry.params,
      client: { capabilities: { elicitation: { form: {} } } },
      principal: "",
      createdAt: entry.createdAt,
      version: entry.toolVersion,
      events,
    }, options)
  );
  assert.deepEqual(effects, [], "no step ran");
  assert.equal(
    JSON.stringify([await run(() => store.read(id)), await run(() => store.get(id))]),
    before,
  );
  return result;
}

const statuses = ({ steps }: DryReplay) =>
  steps.map(({ place, status }) => `${place.key} ${status}`);
const keys = ({ next }: DryReplay) => next.map((one) => typeof one === "string" ? one : one.key);

describe("dryReplay() with the same code", () => {
  it("says so for a call that waits, and for one that has ended", async () => {
    const parked = await recorded(original, { n: 1 });
    const one = await replayed(parked, original);
    assert.equal(one.verdict, "same", one.problem);
    assert.deepEqual(statuses(one), ["a same", "first same", "random same", "b same"]);
    assert.deepEqual(one.next, []);
    const done = await recorded(original, { n: 1 }, { n: 2 });
    const two = await replayed(done, original);
    assert.equal(two.verdict, "same", two.problem);
    assert.deepEqual(statuses(two).at(-1), "second same");
    assert.deepEqual(two.next, ["result"]);
    assert.equal(two.versions, undefined);
  });

  it("stops before a step that was begun and has no outcome", async () => {
    const done = await recorded(original, { n: 1 }, { n: 2 });
    const begun = done.events.findIndex((event) =>
      event.type === "begun" && event.place.key === "second"
    );
    const cut = { ...done, events: done.events.slice(0, begun + 1) };
    const { id, entry, events } = cut;
    effects.length = 0;
    const result = await run(() =>
      dryReplay({
        id,
        definition: original,
        params: {},
        client: { capabilities: {} },
        principal: "",
        createdAt: entry.createdAt,
        version: "1",
        events,
      }, { sealer })
    );
    assert.deepEqual([result.verdict, keys(result), effects], ["same", ["second"], []]);
  });

  it("follows branches, sleeps, sealed answers and cancelled calls", async () => {
    const wide = tool(function* (ctx) {
      yield* ctx.elicit("secret", { message: "?" });
      yield* ctx.race([
        // deno-lint-ignore no-explicit-any
        (b: any) => b.elicit("a", { message: "?" }),
        // deno-lint-ignore no-explicit-any
        (b: any) => b.sleep(60_000),
      ]);
      return "";
    });
    const parked = await recorded(wide, { pin: "1234" });
    const same = await replayed(parked, wide);
    assert.equal(same.verdict, "same", same.problem);
    const refused = await replayed(parked, wide, {});
    assert.equal(refused.verdict, "refused");
    const last = parked.events.at(-1)!.lsn;
    const cancelled = {
      ...parked,
      events: [
        ...parked.events,
        { type: "cancelling", reason: "r", by: "caller", lsn: last + 1 },
        { type: "cancelled", reason: "r", by: "caller", lsn: last + 2 },
      ],
    } as Recording;
    const store = new InMemoryToolSessionStore();
    await run(() => store.set(parked.id, parked.entry));
    await run(() =>
      store.append(parked.id, cancelled.events, { afterLSN: 0, epoch: parked.entry.epoch })
    );
    const again = await replayed({ ...cancelled, store }, wide);
    assert.equal(again.verdict, "same", again.problem);
  });
});

describe("dryReplay() with other code", () => {
  it("names the recorded event at which another step is done", async () => {
    const parked = await recorded(original, { n: 1 });
    const other = tool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      yield* ctx.step("renamed", effect("renamed"));
      return "";
    });
    const result = await replayed(parked, other);
    assert.equal(result.verdict, "diverged");
    assert.equal(result.did?.key, "renamed");
    const begun = parked.events.find((event) => event.type === "begun")!;
    assert.equal(result.divergedAt, begun.lsn);
    assert.deepEqual(statuses(result), ["a same", "first diverged", "random missing", "b missing"]);
  });

  it("notices a step that is left out, an open question that is not asked, and a call that ends otherwise", async () => {
    const parked = await recorded(original, { n: 1 });
    const short = tool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      return "done";
    });
    const left = await replayed(parked, short);
    assert.deepEqual([left.verdict, statuses(left)[1], left.next], [
      "diverged",
      "first diverged",
      [],
    ]);
    const silent = tool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      yield* ctx.step("first", effect("first"));
      yield* ctx.random();
      return "done";
    });
    const unasked = await replayed(parked, silent);
    assert.deepEqual([unasked.verdict, statuses(unasked).at(-1)], ["diverged", "b diverged"]);
    assert.deepEqual(unasked.next, ["result"]);
    const done = await recorded(original, { n: 1 }, { n: 2 });
    const otherResult = tool(function* (ctx) {
      const { content: { n } } = yield* ctx.elicit("a", { message: "?" });
      yield* ctx.step("first", effect("first"));
      yield* ctx.random();
      const b = yield* ctx.elicit("b", { message: "?" });
      yield* ctx.step("second", effect("second"));
      return n * 100 + b.content.n;
    });
    const result = await replayed(done, otherResult);
    assert.deepEqual([result.verdict, result.divergedAt], ["diverged", done.events.at(-1)!.lsn]);
    const longer = tool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      yield* ctx.step("first", effect("first"));
      yield* ctx.random();
      yield* ctx.elicit("b", { message: "?" });
      yield* ctx.step("second", effect("second"));
      return yield* ctx.step("third", effect("third"));
    });
    const more = await replayed(done, longer);
    assert.deepEqual([more.verdict, keys(more)], ["diverged", ["third"]]);
  });

  it("says what new code would do next, and which versions differ", async () => {
    const parked = await recorded(
      tool(function* (ctx) {
        yield* ctx.elicit("a", { message: "?" });
        return (yield* ctx.elicit("b", { message: "?" })).content.n;
      }),
      { n: 1 },
    );
    const cut = { ...parked, events: parked.events.slice(0, 2) };
    const store = new InMemoryToolSessionStore();
    await run(() => store.set(cut.id, cut.entry));
    await run(() => store.append(cut.id, cut.events, { afterLSN: 0, epoch: cut.entry.epoch }));
    const next = tool(function* (ctx) {
      yield* ctx.elicit("a", { message: "?" });
      return yield* ctx.step("new", effect("new"));
    }, "2");
    const result = await replayed({ ...cut, store }, next);
    assert.deepEqual([result.verdict, keys(result)], ["same", ["new"]]);
    assert.deepEqual(result.versions, { recorded: "1", loaded: "2" });
  });

  it("ends if the code never reaches what is recorded", async () => {
    const parked = await recorded(original, { n: 1 });
    const stuck = tool(function* () {
      yield* sleep(1_000_000);
      return "";
    });
    const result = await replayed(parked, stuck, { sealer, patience: 20 });
    assert.deepEqual([result.verdict, result.divergedAt], ["diverged", 1]);
  });
});
