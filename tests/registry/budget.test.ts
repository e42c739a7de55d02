import assert from "node:assert/strict";
import { suspend } from "effection";
import { z } from "zod";
import { SessionLimitError } from "../../src/model/errors.ts";
import type { ToolSessionOutcome } from "../../src/model/events.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import { describe, it } from "../suite.ts";
import { accept, asDurable, ended, idle, tool, withRegistry } from "../support/registry.ts";

const KB = 1_024;
const blob = (kilobytes: number) => ({ blob: "x".repeat(kilobytes * KB) });

function textOf(outcome: ToolSessionOutcome | undefined): string {
  assert.equal(outcome?.status, "completed");
  const { content, isError } =
    (outcome as { result: { content: { text: string }[]; isError?: true } })
      .result;
  return `${isError ? "isError: " : ""}${content[0]!.text}`;
}

/** Accepts any arguments, and asks one question. */
const askTool = createMcpTool("ask").description("Asks.").parameters(z.looseObject({}))
  .elicits({ n: { response: z.object({ n: z.number() }) } })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("n", { message: "?" });
    return "done";
  });

/** Asks a given number of questions, each with a message of a given length. */
const asksLong = (kilobytes: readonly number[]) =>
  tool(function* (ctx) {
    for (const length of kilobytes) yield* ctx.elicit("n", { message: "x".repeat(length * KB) });
    return "done";
  });

describe("the memory of waiting calls", () => {
  it(
    "is limited: a new call is refused before it runs, and accepted when there is room again",
    withRegistry(async ({ registry, open }) => {
      const waiting = [open(askTool, blob(40)), open(askTool, blob(50))];
      let ran = false;
      const runs = tool(function* () {
        ran = true;
        return "";
      });
      assert.throws(() => open(runs), (error) => {
        assert.ok(error instanceof SessionLimitError);
        assert.match(
          error.message,
          /^Cannot start another call: the limit of 0.0977 MiB of memory for all calls is reached; answer or cancel a call, or try again later$/,
        );
        return true;
      });
      assert.equal(ran, false);
      accept(waiting[0]!, { n: 1 });
      await ended(waiting[0]!);
      open(runs);
      assert.equal(ran, true);
      waiting[1]!.halt("over");
      await ended(waiting[1]!);
      assert.equal(registry.budget.memory.total, 0, "nothing is left of their weight");
    }, { limits: { maxMemory: 100 * KB } }),
  );

  it(
    "is limited for each named caller, without effect on others",
    withRegistry(({ registry }) => {
      const open = (principal: string) => registry.open(askTool, blob(30), { principal });
      open("mallory");
      assert.throws(
        () => open("mallory"),
        /the caller's calls use 0.03\d* MiB of memory, and its share is 0.0391 MiB; answer or cancel/,
      );
      open("ann");
    }, { limits: { maxMemory: 200 * KB, maxMemoryPerPrincipal: 40 * KB } }),
  );

  it(
    "includes argument names, early answers, and what a client says about itself",
    withRegistry(({ registry }) => {
      const long = "x".repeat(30 * KB);
      const client = { capabilities: { elicitation: { form: {} } } };
      const response = { action: "accept" as const, content: { n: long } };
      const more = [
        registry.open(askTool, { [long]: 1 }, { client }),
        registry.open(askTool, {}, { client, answers: new Map([["other", response]]) }),
        registry.open(askTool, {}, { client: { ...client, name: long } }),
        registry.open(askTool, {}, { client, trace: { baggage: long } }),
      ];
      assert.equal(registry.counts.live, more.length);
      for (const session of more) {
        assert.ok(session.charged > 30 * KB, `${session.charged}`);
      }
    }),
  );

  it(
    "ends a call that would exceed the limit while it waits, and tells the model",
    withRegistry(async ({ registry, open }) => {
      let cleaned = false;
      const session = open(tool(function* (ctx) {
        try {
          yield* ctx.elicit("n", { message: "?" });
          yield* ctx.elicit("n", { message: "x".repeat(120 * KB) });
          return "never";
        } finally {
          cleaned = true;
        }
      }));
      assert.equal(session.outcome, undefined);
      accept(session, { n: 1 });
      await ended(session);
      assert.match(
        textOf(session.outcome),
        /^isError: Cannot wait for an answer: the limit of 0.0977 MiB of memory for all calls is reached; answer or cancel another call, then call the tool again$/,
      );
      assert.ok(cleaned);
      assert.equal(registry.budget.memory.total, 0);
    }, { limits: { maxMemory: 100 * KB } }),
  );

  it(
    "ends a call that would exceed it in its first step",
    withRegistry(async ({ open }) => {
      const session = open(asksLong([120]));
      await ended(session);
      assert.match(textOf(session.outcome), /^isError: Cannot wait for an answer/);
    }, { limits: { maxMemory: 100 * KB } }),
  );

  it(
    "keeps room for running calls when new ones are refused already",
    withRegistry(async ({ open }) => {
      const session = open(asksLong([70, 10]));
      open(askTool, blob(10));
      assert.throws(() => open(askTool), SessionLimitError);
      accept(session, { n: 1 });
      await idle();
      assert.equal(session.outcome, undefined, "it may ask again");
      accept(session, { n: 1 });
      await ended(session);
      assert.equal(textOf(session.outcome), "done");
    }, { limits: { maxMemory: 100 * KB } }),
  );

  it(
    "is available to callers that hold little when others have taken nearly all",
    withRegistry(({ registry }) => {
      const open = (principal: string, kilobytes: number) =>
        registry.open(askTool, blob(kilobytes), { principal });
      for (const hog of ["a", "b", "c"]) open(hog, 30);
      assert.throws(() => open("a", 1), /of memory for all calls is reached/);
      open("ann", 1);
      assert.throws(() => open("b", 1), SessionLimitError);
    }, { limits: { maxMemory: 110 * KB, maxMemoryPerPrincipal: 60 * KB } }),
  );

  it(
    "includes a durable call that rests in a store in memory, until it is gone",
    withRegistry(async ({ registry, clock }) => {
      const durable = asDurable(askTool);
      const session = registry.open(durable, blob(90));
      clock.advance(60_000);
      await idle();
      assert.equal(registry.find(session.id), undefined, "it has left");
      assert.throws(() => registry.open(askTool, {}), SessionLimitError);
      const again = (await registry.lookup(session.id))!;
      assert.ok(registry.budget.memory.total < 100 * KB, "it is counted once");
      again.halt("over");
      await ended(again);
      assert.equal(registry.budget.memory.total, 0);
      // A session that expires in the store is no longer counted.
      registry.open(durable, blob(90));
      clock.advance(60_000);
      await idle();
      assert.throws(() => registry.open(askTool, {}), SessionLimitError);
      clock.advance(3_600_000 + 120_000);
      await idle();
      clock.advance(60_000);
      await idle();
      assert.equal(registry.budget.memory.total, 0);
    }, { limits: { maxMemory: 100 * KB, passivateAfter: 60_000 }, find: () => asDurable(askTool) }),
  );

  it("includes a durable call that rests and cannot be taken up now", () => {
    let known = true;
    const find = () => known ? asDurable(askTool) : undefined;
    const limits = { maxMemory: 100 * KB, passivateAfter: 60_000 };
    return withRegistry(async ({ registry, clock }) => {
      const session = registry.open(asDurable(askTool), blob(90));
      clock.advance(60_000);
      await idle();
      const before = registry.budget.memory.total;
      assert.ok(before > 90 * KB);
      known = false;
      assert.equal(await registry.lookup(session.id), undefined);
      assert.equal(registry.budget.memory.total, before);
      assert.throws(() => registry.open(askTool, {}), SessionLimitError);
      known = true;
      const again = (await registry.lookup(session.id))!;
      again.halt("over");
      await ended(again);
      assert.equal(registry.budget.memory.total, 0);
    }, { limits, find })();
  });
});

/** A store in memory that counts as durable, and reports its usage. */
class CountingStore extends InMemoryToolSessionStore {
  usages: ReadonlyMap<string, number> = new Map();
  asked = 0;

  *usage() {
    this.asked++;
    return this.usages;
  }
}

describe("the stored bytes of durable calls", () => {
  const durable = asDurable(askTool);
  const counting = (store: CountingStore) =>
    new LiveToolSessionRegistry({
      store,
      find: () => durable,
      limits: { maxStore: 100 * KB, maxStorePerPrincipal: 50 * KB },
      report: () => {},
    });

  it("are limited for each caller, even after its calls have left memory", async () => {
    const registry = counting(new CountingStore());
    const open = (principal: string) => registry.open(durable, blob(45), { principal });
    const first = open("mallory");
    assert.throws(
      () => open("mallory"),
      /the caller's calls use 0.04\d* MiB of the store, and its share is 0.0488 MiB/,
    );
    registry.suspend(first);
    await idle();
    assert.equal(registry.budget.memory.total, 0);
    assert.throws(() => open("mallory"), SessionLimitError);
    registry.open(askTool, blob(45), { principal: "mallory" });
    open("ann");
    const again = (await registry.lookup(first.id))!;
    again.halt("over");
    await ended(again);
    registry.forget(again);
    await idle();
    registry.forget(open("mallory"));
    await registry.close();
  });

  it("include those that are stored at the start", async () => {
    const store = new CountingStore();
    store.usages = new Map([["mallory", 49 * KB], ["ann", KB]]);
    const registry = counting(store);
    registry.wake();
    await idle();
    assert.throws(() => registry.open(durable, {}, { principal: "mallory" }), SessionLimitError);
    registry.open(durable, {}, { principal: "ann" });
    await registry.close();
    assert.equal(store.asked, 1);
  });

  it("are not counted if the store cannot report them", async () => {
    const registry = new LiveToolSessionRegistry({
      store: new InMemoryToolSessionStore(),
      limits: { maxStore: KB },
    });
    for (let i = 0; i < 3; i++) registry.open(durable, blob(10));
    await registry.close();
  });

  it("end a call that would exceed the limit while it waits", async () => {
    const registry = counting(new CountingStore());
    const session = registry.open(asDurable(asksLong([110])), {});
    await ended(session);
    assert.match(
      textOf(session.outcome),
      /^isError: Cannot wait for an answer: the limit of .* of the store for all calls is reached/,
    );
    await registry.close();
  });
});

describe("a call that has left memory", () => {
  it("is not revived while its caller's calls use up its share, and is revived afterwards", async () => {
    const durable = asDurable(askTool);
    const registry = new LiveToolSessionRegistry({
      store: new CountingStore(),
      find: () => durable,
      limits: { maxMemory: 200 * KB, maxMemoryPerPrincipal: 50 * KB },
    });
    const open = (principal: string, kilobytes: number) =>
      registry.open(durable, blob(kilobytes), { principal });
    const first = open("mallory", 30);
    registry.suspend(first);
    await idle();
    const working = createMcpTool("works").description("Works.").parameters(z.looseObject({}))
      .execute(function* () {
        yield* suspend();
      });
    // A running session is not ended for lack of room, but it counts.
    const second = registry.open(asDurable(working), blob(60), { principal: "mallory" });
    await assert.rejects(
      async () => await registry.lookup(first.id),
      /^SessionLimitError: Cannot continue the call now: the caller's calls use 0.06\d* MiB/,
    );
    second.halt("over");
    await ended(second);
    const again = (await registry.lookup(first.id))!;
    assert.equal(again.openRequests().length, 1);
    await registry.close();
  });
});
