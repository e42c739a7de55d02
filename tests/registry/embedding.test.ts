import assert from "node:assert/strict";
import { createContext, type Operation, scoped, spawn, suspend, until } from "effection";
import type { ToolSessionOutcome } from "../../src/model/events.ts";
import {
  ToolSessionRegistryContext,
  ToolSessionStoreContext,
  useToolSessionRegistry,
} from "../../src/registry/use-registry.ts";
import type { ToolSession } from "../../src/session/types.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { asDurable, askTool, tool } from "../support/registry.ts";
import { describe, it } from "../suite.ts";

function* outcomeOf(session: ToolSession): Operation<ToolSessionOutcome<unknown>> {
  const events = yield* session.getEvents();
  for (;;) {
    const next = yield* events.next();
    if (next.done) return next.value;
  }
}

describe("useToolSessionRegistry()", () => {
  it("returns a registry that lives as long as the scope, and sets it in the scope's context", function* () {
    const clock = createManualClock();
    const log: string[] = [];
    const { registry, session } = yield* scoped(function* () {
      const registry = yield* useToolSessionRegistry({ clock });
      assert.equal(yield* ToolSessionRegistryContext.expect(), registry);
      const session = yield* registry.create(
        tool(function* (ctx) {
          try {
            yield* ctx.elicit("n", { message: "?" });
          } finally {
            const child = yield* spawn(function* () {
              log.push("cleaned up");
            });
            yield* child;
          }
          return "";
        }),
        {},
      );
      assert.equal(yield* session.status(), "awaiting_elicit");
      return { registry, session };
    });
    assert.deepEqual(log, ["cleaned up"]);
    assert.equal(yield* session.status(), "cancelled");
    assert.deepEqual(registry.counts, { live: 0, finished: 0, deadlines: 0 });
    assert.equal(clock.timers, 0);
    assert.equal(yield* ToolSessionRegistryContext.get(), undefined);
  });

  it("closes when its scope is halted from outside", function* () {
    const clock = createManualClock();
    const sessions: ToolSession[] = [];
    const task = yield* spawn(function* () {
      const registry = yield* useToolSessionRegistry({ clock });
      sessions.push(yield* registry.create(askTool, {}));
      yield* suspend();
    });
    while (sessions.length === 0) yield* until(Promise.resolve());
    yield* task.halt();
    assert.equal(yield* sessions[0]!.status(), "cancelled");
    assert.equal(clock.timers, 0);
  });

  it("uses the store of its scope by default", function* () {
    const [outer, given] = [new InMemoryToolSessionStore(), new InMemoryToolSessionStore()];
    yield* ToolSessionStoreContext.set(outer);
    const clock = createManualClock();
    yield* scoped(function* () {
      const registry = yield* useToolSessionRegistry({ clock });
      yield* registry.create(asDurable(askTool), {});
      assert.deepEqual([outer.size, given.size], [1, 0]);
    });
    yield* scoped(function* () {
      const registry = yield* useToolSessionRegistry({ clock, store: given });
      yield* registry.create(asDurable(askTool), {});
      assert.deepEqual([outer.size, given.size], [1, 1]);
    });
  });

  it("lets tools see the scope's contexts", function* () {
    const Tenant = createContext<string>("tenant");
    yield* Tenant.set("acme");
    const registry = yield* useToolSessionRegistry({ clock: createManualClock() });
    const session = yield* registry.create(
      tool(function* () {
        const own = yield* ToolSessionRegistryContext.expect();
        return `${yield* Tenant.expect()} ${own === registry}`;
      }),
      {},
    );
    const outcome = yield* outcomeOf(session);
    assert.deepEqual(outcome, {
      status: "completed",
      result: { content: [{ type: "text", text: "acme true" }] },
    });
  });

  it("isolates a tool's changes to contexts from the others", function* () {
    const Tenant = createContext<string>("tenant");
    yield* Tenant.set("acme");
    const registry = yield* useToolSessionRegistry({ clock: createManualClock() });
    const greedy = yield* registry.create(
      tool(function* () {
        yield* Tenant.set("mine");
        return "";
      }),
      {},
    );
    yield* outcomeOf(greedy);
    assert.equal(yield* Tenant.expect(), "acme");
  });

  it("survives a tool, or a child of one, that crashes", function* () {
    const faults: unknown[] = [];
    const registry = yield* useToolSessionRegistry({
      clock: createManualClock(),
      report: ({ error }) => faults.push(error),
    });
    const bystander = yield* registry.create(askTool, {});
    const crashes = [
      tool(function* () {
        throw new Error("at once");
      }),
      tool(function* () {
        yield* spawn(function* () {
          throw new Error("child");
        });
        yield* suspend();
      }),
      tool(function* () {
        yield* spawn(function* () {
          yield* spawn(function* () {
            throw new Error("grandchild");
          });
          yield* suspend();
        });
        yield* suspend();
      }),
      tool(function* () {
        try {
          yield* spawn(() => suspend());
          throw new Error("and again");
        } finally {
          // deno-lint-ignore no-unsafe-finally
          throw new Error("in finally");
        }
      }),
    ];
    for (const crash of crashes) {
      const outcome = yield* outcomeOf(yield* registry.create(crash, {}));
      assert.equal(outcome.status, "completed");
      assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
    }
    assert.deepEqual(faults.map((error) => (error as Error).message), [
      "at once",
      "child",
      "grandchild",
      "in finally",
    ]);
    assert.equal(yield* bystander.status(), "awaiting_elicit");
  });
});
