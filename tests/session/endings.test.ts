import assert from "node:assert/strict";
import { all, type Operation, spawn, suspend, until as untilPromise } from "effection";
import { z } from "zod";
import { ProtocolError, ToolError } from "../../src/model/errors.ts";
import type { ToolResult } from "../../src/model/events.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import { describe, it } from "../suite.ts";
import {
  accept,
  ended,
  type Kit,
  textOf,
  tool,
  types,
  until,
  withRegistry,
} from "../support/registry.ts";

/** The result of a session, which must have one. */
async function resultOf(session: ReturnType<Kit["open"]>): Promise<ToolResult> {
  const outcome = await ended(session);
  assert.equal(outcome.status, "completed");
  return (outcome as { result: ToolResult }).result;
}

/** Tools that throw: at once, after an answer, in a branch, or in a child. */
function throwing(error: unknown): [string, ReturnType<typeof tool>][] {
  return Object.entries<(ctx: Parameters<Parameters<typeof tool>[0]>[0]) => Operation<unknown>>({
    *"at once"() {
      throw error;
    },
    *"after an answer"(ctx) {
      yield* ctx.elicit("n", { message: "?" });
      throw error;
    },
    *"in a branch"(ctx) {
      yield* all([
        ctx.branch(function* () {
          throw error;
        }),
        suspend(),
      ]);
    },
    *"in a child"() {
      yield* spawn(function* () {
        throw error;
      });
      yield* suspend();
    },
    *"from a promise"() {
      yield* untilPromise(Promise.reject(error));
    },
  }).map(([name, body]) => [name, tool(body)]);
}

function opened({ open }: Kit, [name, one]: [string, ReturnType<typeof tool>]) {
  const session = open(one);
  if (name === "after an answer") accept(session, { n: 1 });
  return session;
}

describe("a tool that throws a ToolError", () => {
  it(
    "tells only the model: the session is completed",
    withRegistry(async (kit) => {
      for (const one of throwing(new ToolError("no seats left"))) {
        const result = await resultOf(opened(kit, one));
        assert.deepEqual(
          result,
          { content: [{ type: "text", text: "no seats left" }], isError: true },
          one[0],
        );
      }
      assert.deepEqual(kit.faults, []);
    }),
  );
});

describe("a tool that throws a ProtocolError", () => {
  it(
    "answers the call with that error: the session is failed",
    withRegistry(async (kit) => {
      for (const one of throwing(new ProtocolError(-32042, "pay first", { price: 3 }))) {
        const session = opened(kit, one);
        assert.deepEqual(await ended(session), {
          status: "failed",
          error: { code: -32042, message: "pay first", data: { price: 3 } },
        }, one[0]);
        assert.ok(types(session).endsWith("error"));
      }
      const bare = kit.open(tool(function* () {
        throw new ProtocolError(-1, "bare");
      }));
      assert.deepEqual(bare.outcome, { status: "failed", error: { code: -1, message: "bare" } });
      assert.deepEqual(kit.faults, []);
    }),
  );

  it(
    "drops error data that cannot be sent, and reports it to the operator",
    withRegistry(({ open, faults }) => {
      const cycle: Record<string, unknown> = {};
      cycle["self"] = cycle;
      for (const data of [cycle, { big: 1n }]) {
        const session = open(tool(function* () {
          throw new ProtocolError(-1, "m", data);
        }));
        assert.deepEqual(session.outcome, { status: "failed", error: { code: -1, message: "m" } });
      }
      assert.equal(faults.length, 2);
    }),
  );
});

describe("a tool that throws any other error", () => {
  it(
    "shows the model the session's id only; the operator gets the details",
    withRegistry(async (kit) => {
      const error = new Error("password is hunter2");
      for (const one of throwing(error)) {
        const session = opened(kit, one);
        const result = await resultOf(session);
        const told = JSON.stringify([result, session.log.after(0)]);
        assert.equal(result.isError, true);
        assert.ok(told.includes(session.id), one[0]);
        assert.ok(!told.includes("hunter2") && !told.includes("endings.test"), told);
        const { error: reported, sessionId, toolName } = kit.faults.at(-1)!;
        assert.deepEqual([reported, sessionId, toolName], [error, session.id, "t"], one[0]);
      }
      assert.equal(kit.faults.length, throwing(error).length);
    }),
  );

  it(
    "may throw a value that is not an error",
    withRegistry(async (kit) => {
      for (const thrown of [undefined, null, 0, "text", {}, Symbol("s")]) {
        const session = kit.open(tool(function* () {
          throw thrown;
        }));
        assert.equal((await resultOf(session)).isError, true, String(thrown));
        assert.equal(kit.faults.at(-1)!.error, thrown);
      }
    }),
  );

  it(
    "ends even if the report of its error fails",
    withRegistry(async ({ open }) => {
      const { error: print } = console;
      const printed: unknown[] = [];
      console.error = (...line: unknown[]) => printed.push(line);
      try {
        const session = open(tool(function* () {
          throw new Error("mine");
        }));
        assert.equal((await resultOf(session)).isError, true);
      } finally {
        console.error = print;
      }
      assert.equal(printed.length, 1);
    }, {
      report: () => {
        throw new Error("the log is full");
      },
    }),
  );
});

describe("a tool's result", () => {
  it(
    "is refused if it does not fit the output schema, and reported to the operator",
    withRegistry(async ({ open, faults }) => {
      const session = open(
        createMcpTool("weigh").description("d").output(z.object({ kg: z.number() }))
          .execute(function* () {
            return { kg: "heavy" as unknown as number };
          }),
      );
      const result = await resultOf(session);
      assert.deepEqual([result.isError, result.structuredContent], [true, undefined]);
      assert.match(String(faults[0]?.error), /kg/);
    }),
  );

  it(
    "is refused if it cannot be sent, and the session ends",
    withRegistry(async ({ open, faults, registry }) => {
      const cycle: Record<string, unknown> = {};
      cycle["self"] = cycle;
      const bad: (() => unknown)[] = [
        () => cycle,
        () => ({ big: 1n }),
        () => ({ content: [{ type: "text", text: "t", _meta: cycle }] }),
        () => ({
          get trap() {
            throw new Error("trap");
          },
        }),
      ];
      for (const make of bad) {
        const session = open(tool(function* () {
          return make();
        }));
        assert.equal((await resultOf(session)).isError, true, `${make}`);
      }
      assert.equal(faults.length, bad.length);
      assert.equal(registry.counts.live, 0);
    }),
  );

  it(
    "may be undefined, and may come in the first step",
    withRegistry(async ({ open }) => {
      const session = open(tool(function* () {}));
      assert.deepEqual(await resultOf(session), { content: [] });
      assert.equal(types(session), "result");
    }),
  );
});

describe("arguments that do not fit the schema", () => {
  it(
    "never reach the tool: the model learns which field is wrong and what is expected",
    withRegistry(async ({ open, registry }) => {
      let ran = false;
      const session = open(
        createMcpTool("add").description("d").parameters(z.object({ a: z.number() }))
          .execute(function* () {
            ran = true;
            return "";
          }),
        { a: "one" },
      );
      assert.match(await textOf(session), /\ba\b.*number/);
      assert.deepEqual([ran, registry.counts.live], [false, 0]);
    }),
  );
});

describe("a child of a tool", () => {
  it(
    "does not outlive it",
    withRegistry(async ({ open }) => {
      const log: string[] = [];
      const session = open(tool(function* (ctx) {
        yield* spawn(function* () {
          try {
            yield* ctx.elicit("n", { message: "?" });
          } finally {
            log.push("left");
          }
        });
        yield* ctx.elicit("m", { message: "?" });
        return "done";
      }));
      await until(() => session.openRequests().length === 2);
      const own = session.openRequests().find(({ place }) => place.key === "m")!;
      session.respond(own.id, { action: "decline" });
      assert.equal(await textOf(session), "done");
      assert.deepEqual(log, ["left"]);
      assert.equal(
        types(session),
        "elicit_request,elicit_request,answer,withdrawn,result",
      );
    }),
  );
});
