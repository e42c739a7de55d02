import process from "node:process";
import fc from "fast-check";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import type { ToolSessionStore } from "../../src/store/types.ts";
import { describe, it } from "../suite.ts";
import { HandStore } from "../support/hand-store.ts";
import { type Reaction, World } from "./world.ts";

/** The same seed every time by default; `PARLEY_SEED=7 deno task test properties` sets another. */
const seed = Number(process.env["PARLEY_SEED"] ?? 20260104);
const numRuns = Number(process.env["PARLEY_RUNS"] ?? 250);

type Step = (world: World) => void | Promise<void>;

const which = fc.nat(30);
const nth = fc.nat(12);

function pick<T>(list: readonly T[], index: number): T | undefined {
  return list.length === 0 ? undefined : list[index % list.length];
}

/** A step that prints itself in a report. */
function step(name: string, act: Step): Step {
  return Object.assign(act, { toString: () => name, [fc.toStringMethod]: () => name });
}

const reaction = fc.constantFrom<Reaction>("none", "none", "none", "answer", "cancel");

const start = fc.tuple(which, reaction).map(([n, early]) =>
  step(`start ${n}, ${early}`, (world) => world.start(n, early))
);

const answer = fc.tuple(which, which, nth, fc.boolean()).map(([from, to, n, valid]) =>
  step(`answer ${from} at ${to}, question ${n}, ${valid}`, (world) => {
    const own = pick(world.watched, from);
    // Half of the time, for the session that asked.
    const other = from % 2 ? own : pick(world.watched, to);
    if (own && other) world.answer(own, other, n, valid);
  })
);

const answerAll = which.map((n) =>
  step(`answer all of ${n}`, (world) => {
    const one = pick(world.watched, n);
    if (one) world.answerAll(one);
  })
);

const cancel = which.map((n) =>
  step(`cancel ${n}`, (world) => {
    const one = pick(world.watched, n);
    if (one) world.cancel(one);
  })
);

const join = fc.tuple(which, nth, reaction).map(([n, from, reaction]) =>
  step(`join ${n} after ${from}, ${reaction}`, (world) => {
    const one = pick(world.watched, n);
    if (one) world.join(one, from, reaction);
  })
);

const read = fc.tuple(which, nth).map(([n, count]) =>
  step(`reader ${n} reads ${count}`, (world) => pick(world.readers, n)?.read(count))
);

const leave = which.map((n) =>
  step(`reader ${n} leaves`, (world) => pick(world.readers, n)?.leave())
);

const hold = fc.tuple(which, fc.boolean()).map(([n, held]) =>
  step(`${held ? "hold" : "let go of"} ${n}`, (world) => {
    const session = pick(world.watched, n)?.session;
    if (!session || !world.registry.find(session.id)) return;
    if (held) world.registry.hold(session);
    else world.registry.letGo(session);
  })
);

const advance = fc.nat(500).map((ms) => step(`advance ${ms}`, ({ clock }) => clock.advance(ms)));

const turns = fc.nat(8).map((count) =>
  step(`${count} turns`, async () => {
    for (let n = 0; n < count; n++) await Promise.resolve();
  })
);

const commit = fc.nat(20).map((n) =>
  step(`commit, ${n}`, ({ store }) => {
    if (!(store instanceof HandStore)) return;
    const first = store.commits.shift();
    if (n === 0) first?.fail(new Error("disk full"));
    else first?.commit();
  })
);

const steps = (withCommits: boolean) =>
  fc.array(
    fc.oneof(
      { weight: 5, arbitrary: start },
      { weight: 6, arbitrary: answer },
      { weight: 3, arbitrary: answerAll },
      { weight: 2, arbitrary: cancel },
      { weight: 4, arbitrary: join },
      { weight: 4, arbitrary: read },
      { weight: 1, arbitrary: leave },
      { weight: 1, arbitrary: hold },
      { weight: 2, arbitrary: advance },
      { weight: 5, arbitrary: turns },
      { weight: withCommits ? 10 : 0, arbitrary: commit },
    ),
    { minLength: 5, maxLength: 60, size: "max" },
  );

const stores: Record<string, () => ToolSessionStore | undefined> = {
  "no store": () => undefined,
  "the memory store": () => new InMemoryToolSessionStore(),
  "a store that takes its time": () => new HandStore(),
};

describe("sessions under random events", () => {
  for (const [name, make] of Object.entries(stores)) {
    for (const maxEvents of [1_000, 8]) {
      it(`lose, duplicate and leave nothing, with ${name}, keeping ${maxEvents} events`, async () => {
        await fc.assert(
          fc.asyncProperty(steps(name.includes("time")), fc.boolean(), async (steps, gently) => {
            const world = new World(make(), maxEvents);
            for (const step of steps) await step(world);
            await world.end(gently);
          }),
          { seed, numRuns },
        );
      });
    }
  }
});
