import assert from "node:assert/strict";
import { run } from "effection";
import { describe, it } from "../suite.ts";
import { answer, durableTool, MINUTE, serverOf } from "./durable-kit.ts";
import { follow, idle, until } from "../support/registry.ts";

describe("a ToolSession that has left memory", () => {
  const tool = durableTool(function* (ctx) {
    const a = (yield* ctx.elicit("a", { message: "?" })).content.n;
    return a + (yield* ctx.elicit("b", { message: "?" })).content.n;
  });

  it("can be answered and read like any other", async () => {
    await Promise.resolve();
    const { clock, registry } = serverOf(tool);
    const session = registry.open(tool, {});
    await idle();
    answer(session, "a", 1);
    await until(() => session.openRequests()[0]?.place.key === "b");
    const { id } = session.openRequests()[0]!;
    clock.advance(MINUTE);
    await until(() => registry.counts.live === 0);
    const accepted = { action: "accept" as const, content: { n: 2 } };
    assert.equal(
      await run(() => registry.handle(session).respondToElicit(id, accepted)),
      "accepted",
    );
    const reading = follow(registry.handle(session));
    await until(() => reading.outcome !== undefined);
    assert.equal(reading.outcome!.status, "completed");
    assert.deepEqual(reading.events.map(({ lsn }) => lsn), [1, 2, 3, 4, 5]);
    assert.equal(
      await run(() => registry.handle(session).respondToElicit(id, accepted)),
      "repeated",
    );
    assert.equal(
      await run(() => registry.handle(session).respondToElicit("elicit_x_1", accepted)),
      "ended",
    );
    await registry.close();
    assert.equal(clock.timers, 0);
  });

  it("returns no answer to anyone once its registry is closed", async () => {
    await Promise.resolve();
    const { registry } = serverOf(tool);
    const session = registry.open(tool, {});
    await idle();
    const { id } = session.openRequests()[0]!;
    await registry.close();
    const accepted = { action: "accept" as const, content: { n: 2 } };
    assert.notEqual(
      await run(() => registry.handle(session).respondToElicit(id, accepted)),
      "accepted",
    );
  });
});
