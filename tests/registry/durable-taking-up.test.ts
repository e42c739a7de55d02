import assert from "node:assert/strict";
import { RegistryClosedError, SessionLimitError } from "../../src/model/errors.ts";
import type { ElicitRequest, ToolSessionEvent } from "../../src/model/events.ts";
import type { PortableCall } from "../../src/registry/portable-record.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import type { Definition } from "../../src/tool/types.ts";
import { describe, it } from "../suite.ts";
import { answer, askA, durableTool, serverOf } from "./durable-kit.ts";
import { HandStore } from "../support/hand-store.ts";
import { ended, idle, textOf, until } from "../support/registry.ts";

describe("a registry that is closed while it revives a session", () => {
  it("closes, starts nothing, and loses nothing", async () => {
    await Promise.resolve();
    const store = new HandStore();
    store.release();
    const first = serverOf(askA, { store });
    const { id } = first.registry.open(askA, {});
    await idle();
    await first.registry.close();
    let starts = 0;
    const tool = durableTool(function* (ctx) {
      starts++;
      return (yield* ctx.elicit("a", { message: "?" })).content.n;
    });
    const { registry, clock, faults } = serverOf(tool, { store });
    store.slowTake = true;
    const looking = Promise.resolve(registry.lookup(id)).catch((error) => error);
    await until(() => store.takes.length === 1);
    let closed = false;
    const over = registry.close().then(() => closed = true);
    await idle();
    assert.equal(closed, false);
    store.takes[0]!();
    await until(() => closed);
    await over;
    assert.ok(await looking instanceof RegistryClosedError, "whoever looked is told to come back");
    assert.equal(starts, 0, "nothing starts any more");
    assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
    assert.equal(clock.timers, 0);
    assert.deepEqual(faults, []);
    store.slowTake = false;
    const next = serverOf(tool, { store });
    const again = (await next.registry.lookup(id))!;
    await until(() => again.openRequests().length === 1);
    answer(again, "a", 3);
    assert.equal(await textOf(again), "3");
    await next.registry.close();
  });
});

describe("a session with a portable record", () => {
  const callOf = ({ id, client }: LiveToolSession, definition: Definition): PortableCall => ({
    sessionId: id,
    definition,
    params: {},
    client,
    principal: "",
  });
  const recordOf = ({ log }: LiveToolSession) => ({
    createdAt: 0,
    version: "1",
    events: log.after(0),
  });

  /** Ends at once with the answer 1, and asks once more with any other. */
  const forked = durableTool(function* (ctx) {
    const a = (yield* ctx.elicit("a", { message: "?" })).content.n;
    if (a === 1) return "done";
    return (yield* ctx.elicit("b", { message: "?" })).content.n;
  });

  it("continues from that record if it ended differently here", async () => {
    await Promise.resolve();
    const here = serverOf(forked);
    const session = here.registry.open(forked, {}, { portable: true, needsCaller: true });
    const call = callOf(session, forked);
    const early = recordOf(session);
    answer(session, "a", 1);
    await ended(session);
    const elsewhere = serverOf(forked);
    const there = await elsewhere.registry.adopt(early, call);
    answer(there, "a", 7);
    await until(() => there.openRequests()[0]?.place.key === "b");
    const late = recordOf(there);
    await elsewhere.registry.close();
    let adopted: LiveToolSession | undefined;
    const adoption = here.registry.adopt(late, call).then((one) => adopted = one);
    await until(() => adopted !== undefined);
    await adoption;
    await until(() => adopted!.openRequests().length === 1);
    answer(adopted!, "b", 8);
    assert.equal(await textOf(adopted!), "8");
    assert.equal(here.registry.find(session.id), adopted, "what was here before is not");
    await here.registry.close();
  });

  it("asks again after an accept of {} if its record does, as earlier versions did", async () => {
    const first = serverOf(askA);
    const session = first.registry.open(askA, {}, { portable: true, needsCaller: true });
    const call = callOf(session, askA);
    const [asked] = session.log.after(0) as [ElicitRequest & { lsn: number }];
    await first.registry.close();
    const again = "?\n\nThe last answer could not be used: n: expected a number.";
    const events: ToolSessionEvent[] = [
      asked,
      {
        type: "answer",
        requestId: asked.id,
        response: { action: "accept", content: {} },
        lsn: 2,
      },
      {
        ...asked,
        id: asked.id.replace(/1$/, "2"),
        name: "a_2",
        place: { ...asked.place, count: 1 },
        params: { ...asked.params, message: again },
        lsn: 3,
      },
    ];
    const { registry } = serverOf(askA);
    const adopted = await registry.adopt({ createdAt: 0, version: "1", events }, call);
    await until(() => adopted.openRequests().length === 1);
    answer(adopted, "a", 4);
    assert.equal(await textOf(adopted), "4");
    await registry.close();
  });

  it("stays if it has outgrown an older record, which its log no longer holds", async () => {
    await Promise.resolve();
    const tool = durableTool(function* (ctx) {
      const a = (yield* ctx.elicit("a", { message: "?" })).content.n;
      for (let n = 0; n < 20; n++) yield* ctx.notify(`${n}`);
      return a + (yield* ctx.elicit("b", { message: "?" })).content.n;
    });
    const { registry } = serverOf(tool, { limits: { maxEventsPerSession: 4 } });
    const session = registry.open(tool, {}, { portable: true, needsCaller: true });
    const older = recordOf(session);
    answer(session, "a", 1);
    await until(() => session.openRequests()[0]?.place.key === "b");
    session.stayHere();
    assert.ok(session.log.firstLSN > 1);
    assert.equal(await registry.adopt(older, callOf(session, tool)), session);
    answer(session, "b", 2);
    assert.equal(await textOf(session), "3");
    await registry.close();
  });

  it("is answered even if there is no room for another session", async () => {
    await Promise.resolve();
    const { registry } = serverOf(askA, { limits: { maxSessions: 1 } });
    const session = registry.open(askA, {}, { portable: true, needsCaller: true });
    const call = callOf(session, askA);
    const record = recordOf(session);
    assert.equal(await registry.adopt(record, call), session);
    await assert.rejects(
      registry.adopt(record, { ...call, sessionId: "another" }),
      SessionLimitError,
    );
    answer(session, "a", 5);
    assert.equal(await textOf(session), "5");
    await registry.close();
    await assert.rejects(registry.adopt(record, call), RegistryClosedError);
  });
});
