import assert from "node:assert/strict";
import type { ToolSessionEvent } from "../../src/model/events.ts";
import type { ServedSessionOptions } from "../../src/session/types.ts";
import type { AppendChange, AppendCondition } from "../../src/store/types.ts";
import { describe, it } from "../suite.ts";
import { durableTool, MINUTE, serverOf, stored } from "./durable-kit.ts";
import { HandStore } from "../support/hand-store.ts";
import { ended, idle, until } from "../support/registry.ts";

/** A store that accepts a limited number of bytes, as on a full disk. */
class FullStore extends HandStore {
  refuses: (event: ToolSessionEvent) => boolean = () => false;
  tries = 0;

  constructor() {
    super();
    this.release();
  }

  /** Accepts nothing from the first outcome of a step on. */
  breakAtFact(): void {
    this.refuses = ({ type }) => {
      if (type === "fact") this.refuses = () => true;
      return type === "fact";
    };
  }

  override *append(
    id: string,
    events: readonly ToolSessionEvent[],
    condition: AppendCondition & AppendChange,
  ) {
    this.tries++;
    if (events.some((event) => this.refuses(event))) throw new Error("disk full");
    yield* super.append(id, events, condition);
  }
}

/** A tool with two steps, and what it has done. */
function twoSteps() {
  const done: string[] = [];
  const did = function* (key: string) {
    done.push(key.slice(key.indexOf(":")));
  };
  const tool = durableTool(function* (ctx) {
    yield* ctx.step("one", did);
    yield* ctx.step("two", did);
    return "x";
  });
  return { tool, done };
}

describe("a durable call that could not be recorded, and whose caller knows", () => {
  async function failed(store: FullStore, options: ServedSessionOptions = {}) {
    const { tool, done } = twoSteps();
    const server = serverOf(tool, { store });
    server.registry.wake();
    store.refuses = (event) => event.type === "fact";
    const session = server.registry.open(tool, {}, options);
    const outcome = await ended(session);
    assert.equal(outcome.status, "failed");
    return { ...server, tool, done, session };
  }

  /** Lets the next server run everything that is due. */
  async function runNext(store: FullStore, tool: ReturnType<typeof twoSteps>["tool"]) {
    store.refuses = () => false;
    const { registry } = serverOf(tool, { store });
    registry.wake();
    await idle();
    await idle();
    await registry.close();
  }

  it("does not continue by itself", async () => {
    await Promise.resolve();
    const store = new FullStore();
    const { registry, tool, done, session } = await failed(store);
    await until(() => registry.counts.live === 0);
    await registry.close();
    await runNext(store, tool);
    assert.deepEqual(done, ["::one:0"]);
    assert.deepEqual((await stored(store, session.id)).map(({ type }) => type), ["begun", "error"]);
  });

  it("is ended as soon as the store accepts writes, which is tried at intervals", async () => {
    await Promise.resolve();
    const store = new FullStore();
    const { tool, done } = twoSteps();
    const { registry, clock, faults } = serverOf(tool, { store });
    registry.wake();
    store.breakAtFact();
    const session = registry.open(tool, {});
    await ended(session);
    for (let minutes = 0; minutes < 3; minutes++) {
      clock.advance(MINUTE);
      await idle();
    }
    assert.equal((await stored(store, session.id)).length, 1);
    store.refuses = () => false;
    clock.advance(MINUTE);
    await idle();
    assert.equal((await stored(store, session.id)).at(-1)!.type, "error");
    const { tries } = store;
    clock.advance(5 * MINUTE);
    await idle();
    assert.equal(store.tries, tries, "and then no more");
    await registry.close();
    assert.equal(faults.length, 1);
    assert.equal(clock.timers, 0);
    assert.equal(done.length, 1);
  });

  it("does not stop a server from closing if the store never accepts writes", async () => {
    await Promise.resolve();
    const store = new FullStore();
    const { tool } = twoSteps();
    const { registry, clock, faults } = serverOf(tool, { store });
    store.breakAtFact();
    const session = registry.open(tool, {});
    await ended(session);
    await registry.close();
    assert.deepEqual(faults.map(({ what }) => what), [
      "the events of the call could not be stored",
      "the final events of failed calls could not be stored",
    ]);
    assert.equal(clock.timers, 0);
  });

  it("is left to the server that has taken it over", async () => {
    await Promise.resolve();
    const store = new FullStore();
    const { tool, done } = twoSteps();
    const { registry } = serverOf(tool, { store });
    store.breakAtFact();
    const session = registry.open(tool, {});
    await ended(session);
    await idle();
    store.refuses = () => false;
    const other = serverOf(tool, { store });
    const again = (await other.registry.lookup(session.id))!;
    assert.equal((await ended(again)).status, "completed");
    await registry.close();
    await other.registry.close();
    assert.equal((await stored(store, session.id)).at(-1)!.type, "result");
    assert.equal(done.length, 3, "the step that was not recorded, once more with its key");
    assert.equal(done[0], done[1]);
  });

  it("continues if its caller is to send the same request again", async () => {
    await Promise.resolve();
    const store = new FullStore();
    const { registry, tool, done, session } = await failed(store, { needsCaller: true });
    await registry.close();
    assert.deepEqual((await stored(store, session.id)).map(({ type }) => type), ["begun"]);
    store.refuses = () => false;
    const next = serverOf(tool, { store });
    const again = (await next.registry.lookup(session.id))!;
    assert.equal((await ended(again)).status, "completed");
    await next.registry.close();
    assert.equal(done.length, 3);
  });
});
