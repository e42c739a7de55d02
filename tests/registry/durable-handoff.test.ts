import assert from "node:assert/strict";
import { z } from "zod";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import { describe, it } from "../suite.ts";
import { accept, textOf, until } from "../support/registry.ts";

const form = { response: z.object({ n: z.number() }) };

describe("a durable tool with phases, revived by another server", () => {
  it("does not run a completed phase again, nor its steps", async () => {
    await Promise.resolve();
    const done: string[] = [];
    const did = (what: string) =>
      function* (key: string) {
        done.push(`${what} ${key.slice(key.indexOf(":"))}`);
        return what;
      };
    const tool = createMcpTool("t").description("d").elicits({ a: form, b: form }).durable()
      .handoff({
        *before(_params, ctx) {
          yield* ctx.notify("preparing");
          return [yield* ctx.step("hold", did("hold")), yield* ctx.uuid()];
        },
        *client(handoff, ctx) {
          const a = yield* ctx.elicit("a", { message: "a?" });
          const made = yield* ctx.step("make", did("make"));
          const b = yield* ctx.elicit("b", { message: "b?" });
          if (a.action !== "accept" || b.action !== "accept") return [];
          return [...handoff.slice(0, 1), made, a.content.n, b.content.n];
        },
        *after(_handoff, talked, ctx) {
          return `${[...talked, yield* ctx.step("free", did("free"))]}`;
        },
      });
    const clock = createManualClock();
    const store = new InMemoryToolSessionStore();
    const start = () => new LiveToolSessionRegistry({ clock, store, find: () => tool });
    const first = start();
    const session = first.open(tool, {});
    await until(() => session.openRequests().length === 1);
    await first.close();
    const second = start();
    const again = (await second.lookup(session.id))!;
    await until(() => again.openRequests().length === 1);
    accept(again, { n: 1 });
    await until(() => again.openRequests()[0]?.place.key === "b");
    await second.close();
    const third = start();
    const last = (await third.lookup(session.id))!;
    await until(() => last.openRequests().length === 1);
    accept(last, { n: 2 });
    assert.equal(await textOf(last), "hold,make,1,2,free");
    assert.deepEqual(done, [
      "hold :#before:hold:0",
      "make ::make:0",
      "free :#after:free:0",
    ]);
    await third.close();
    assert.equal(clock.timers, 0);
  });
});
