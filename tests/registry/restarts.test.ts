import assert from "node:assert/strict";
import process from "node:process";
import { all, type Operation, race, until as wait } from "effection";
import fc from "fast-check";
import { z } from "zod";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { Definition } from "../../src/tool/types.ts";
import { describe, it } from "../suite.ts";
import { idle } from "../support/registry.ts";

// A durable tool that leaves memory and is revived, at any point, must do, ask and say exactly what
// an uninterrupted run does.

const seed = Number(process.env["PARLEY_SEED"] ?? 20260104);
const numRuns = Number(process.env["PARLEY_RUNS"] ?? 400);

/** A tool, described as data. */
type Program =
  | { do: "ask"; key: string }
  | { do: "effect" | "uuid" | "tell" }
  | { do: "turns"; count: number }
  | { do: "sequence" | "all" | "branches" | "race"; of: readonly Program[] };

const leaf = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("ask"), key: fc.constantFrom("a", "b") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("effect", "uuid", "tell") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("turns"), count: fc.nat(4) }) },
) as fc.Arbitrary<Program>;

const programs = fc.letrec<{ program: Program }>((tie) => ({
  program: fc.oneof(
    { maxDepth: 3, depthSize: "max", withCrossShrink: true },
    leaf,
    fc.record({
      do: fc.constantFrom("sequence", "sequence", "all", "branches", "branches", "race"),
      of: fc.array(tie("program"), { minLength: 1, maxLength: 3, size: "max" }),
    }) as fc.Arbitrary<Program>,
  ),
})).program;

const form = { response: z.object({ n: z.number() }) };

/** Creates the tool; its side effects are recorded in `effects`. */
function toolOf(program: Program, effects: string[]): Definition {
  // deno-lint-ignore no-explicit-any
  function* perform(program: Program, ctx: any): Operation<string> {
    switch (program.do) {
      case "ask":
        return `${(yield* ctx.elicit(program.key, { message: "?" })).content.n}`;
      case "effect":
        return yield* ctx.step("effect", function* (key: string) {
          effects.push(key.slice(key.indexOf(":")));
          return "effect";
        });
      case "uuid":
        // Different in every run; it only has to stay the same within one.
        return `${(yield* ctx.uuid()) === (yield* ctx.uuid())}`;
      case "tell":
        yield* ctx.notify("told");
        return "told";
      case "turns":
        for (let n = 0; n < program.count; n++) yield* wait(Promise.resolve());
        return "waited";
      case "sequence": {
        const parts: string[] = [];
        for (const part of program.of) parts.push(yield* perform(part, ctx));
        return `(${parts})`;
      }
      case "branches":
        return `[${yield* ctx.branches(
          program.of.map((part) => (inner: unknown) => perform(part, inner)),
        )}]`;
      default: {
        const parts = program.of.map((part) =>
          ctx.branch((inner: unknown) => perform(part, inner)) as Operation<string>
        );
        return program.do === "all" ? `[${yield* all(parts)}]` : `<${yield* race(parts)}>`;
      }
    }
  }
  return createMcpTool("t").description("d").elicits({ a: form, b: form }).durable({ version: "1" })
    .execute(function* (_params, ctx) {
      return yield* perform(program, ctx);
    });
}

/** The course of a run: which open questions are answered, and whether it restarts first. */
interface Turn {
  readonly which: number;
  readonly together: boolean;
  readonly restart: boolean;
}

const turns = fc.array(
  fc.record({ which: fc.nat(5), together: fc.boolean(), restart: fc.boolean() }),
  { minLength: 30, maxLength: 30 },
);

const where = (session: LiveToolSession) =>
  session.openRequests().toSorted((a, b) => a.id < b.id ? -1 : 1);

/** Runs the program to its end, and returns everything observable. */
async function play(program: Program, turns: readonly Turn[], restarting: boolean) {
  const clock = createManualClock();
  const store = new InMemoryToolSessionStore();
  const effects: string[] = [];
  const faults: string[] = [];
  const tool = toolOf(program, effects);
  const start = () =>
    new LiveToolSessionRegistry({
      clock,
      store,
      limits: { passivateAfter: Infinity },
      find: () => tool,
      report: ({ what, error }) => faults.push(`${what}: ${error}`),
    });
  let registry = start();
  let session = registry.open(tool, {});
  const story: unknown[] = [];
  for (const { which, together, restart } of turns) {
    await idle();
    if (session.outcome) break;
    if (restart && restarting) {
      await registry.close();
      registry = start();
      session = (await registry.lookup(session.id))!;
      await idle();
    }
    const open = where(session);
    story.push(open.map(({ place }) => `${place.branch}:${place.key}:${place.count}`));
    assert.ok(open.length > 0, "it neither ended nor asks");
    const answered = together ? open : [open[which % open.length]!];
    const outcomes = session.respondAll(answered.map(({ id, place }) => ({
      requestId: id,
      response: {
        action: "accept",
        content: { n: Number(place.branch.replaceAll("/", "")) * 10 + place.count },
      },
    })));
    assert.deepEqual(outcomes, answered.map(() => "accepted"));
  }
  await idle();
  const said = session.log.after(0).map((event) =>
    "place" in event
      ? `${event.type} ${event.place.branch}:${event.place.kind}:${event.place.key}`
      : event.type
  );
  const { outcome } = session;
  await registry.close();
  return { story, said, effects, faults, outcome };
}

describe("a durable tool that is revived at any point", () => {
  it("does, asks and says the same as an uninterrupted run", async () => {
    await fc.assert(
      fc.asyncProperty(programs, turns, async (program, turns) => {
        const alone = await play(program, turns, false);
        const restarted = await play(program, turns, true);
        assert.deepEqual(restarted, alone);
      }),
      { seed, numRuns },
    );
  });
});

describe("a durable tool with a race that is revived", () => {
  const ask = (key: string): Program => ({ do: "ask", key });
  const sequence = (...of: Program[]): Program => ({ do: "sequence", of });
  const turn = (which: number, together = false): Turn => ({ which, together, restart: true });
  /** The second branch asks late, and would do something after its answer. */
  const late = sequence({ do: "turns", count: 3 }, ask("b"), { do: "effect" });
  const racing = sequence({ do: "race", of: [ask("a"), late] }, ask("a"), ask("b"));

  for (const together of [false, true]) {
    it(`has the same winner, and the loser does no more than before: ${together ? "both are answered" : "one is answered"}`, async () => {
      const turns = [turn(0, together), turn(0), turn(0), turn(0)];
      const alone = await play(racing, turns, false);
      assert.equal(alone.outcome?.status, "completed");
      assert.deepEqual(alone.effects, []);
      assert.deepEqual(await play(racing, turns, true), alone);
    });
  }
});
