/** Plays a flow with the server's death at every point in turn. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { assertSame } from "./compare.ts";
import { type Kind, play, SECRET, type Story, type Talk } from "./flows.ts";
import { inFolder } from "./folder.ts";
import type { KillPlan, PassedPoint } from "./kill-points.ts";
import { MortalServer } from "./mortal-server.ts";

/** How many servers are killed in parallel. */
const CHAINS = 4;

/** A flow, and the point at which its server dies; then the one at which the next server dies, … */
interface Run {
  readonly flow: string;
  readonly deaths: readonly string[];
  /** Whether the client can name its call by then. */
  readonly named: boolean;
}

/** Plays it without a kill: returns the expected outcome and all points. */
export async function leftAlone(kind: Kind): Promise<{ story: Story; points: string[] }> {
  return await inFolder(async (folder) => {
    const server = new MortalServer(folder, () => ({ record: join(folder, "points") }));
    try {
      const talk = await play(server, kind, "alone");
      assert.equal(server.deaths, 0);
      const points = distinct(server.points("alone"));
      return { story: { ...talk, effects: server.effects("alone") }, points };
    } finally {
      await server.stop();
      server.assertNowhere(SECRET);
    }
  });
}

/**
 * The names of the points. Right after one `yield*` is right before the next if nothing is between
 * them: that is one point, and dying there twice would show nothing.
 */
function distinct(points: readonly PassedPoint[]): string[] {
  return points.filter(({ name, instant }, i) => {
    const last = points[i - 1];
    const isSame = last?.instant === instant && isYield(last.name, "after") &&
      isYield(name, "before");
    return !isSame;
  }).map(({ name }) => name);
}

function isYield(name: string, side: string): boolean {
  return name.startsWith(side) && !/commit|effect/.test(name);
}

/** Kills a server at every point of a flow in turn; there must be at least this many points. */
export async function everyPoint(kind: Kind, atLeast: number): Promise<void> {
  const { story, points } = await leftAlone(kind);
  assert.equal(new Set(points).size, points.length, "every point has a name of its own");
  assert.ok(points.length >= atLeast, `there are only ${points.length} points`);
  const runs = points.map((point, i): Run => ({
    flow: `${i}`,
    deaths: [point],
    named: isNamed(points, point),
  }));
  await inChains(kind, runs, story);
}

/** Kills the next server too, while it takes the call over, and the one after that. */
export async function whileTakingOver(kind: Kind): Promise<void> {
  const { story, points } = await leftAlone(kind);
  const last = points.indexOf("before the effect of ship");
  const midway = points.filter((point, i) => isNamed(points, point) && i <= last && i % 9 === 0);
  assert.ok(midway.length >= 4, `there are only ${midway.length} points`);
  const takingOver = ["before commit of taking over", "after commit of taking over"];
  const runs = midway.map((point, i): Run => ({
    flow: `${i}`,
    deaths: [point, ...takingOver],
    named: true,
  }));
  await inChains(kind, runs, story);
}

/** Once its first question is answered, a client can name its call. */
function isNamed(points: readonly string[], point: string): boolean {
  return points.indexOf(point) >= points.indexOf("after who");
}

async function inChains(kind: Kind, runs: readonly Run[], alone: Story): Promise<void> {
  const chains = Array.from({ length: CHAINS }, (_, n) => runs.filter((_, i) => i % CHAINS === n));
  const differences = await Promise.all(chains.map((runs) => chain(kind, runs, alone)));
  assert.deepEqual(differences.flat(), []);
}

/**
 * Plays one flow after the other, each with the server's death at its own point. The server that
 * comes after a death serves that flow to its end, and then the next. Returns what differs from an
 * uninterrupted flow.
 */
async function chain(kind: Kind, runs: readonly Run[], alone: Story): Promise<string[]> {
  return await inFolder(async (folder) => {
    const kills = runs.flatMap(({ flow, deaths }) => deaths.map((point) => ({ flow, point })));
    const server = new MortalServer(folder, (): KillPlan => ({ kill: kills.shift() }));
    const differences: string[] = [];
    const differs = ({ deaths }: Run, error: unknown) =>
      differences.push(
        `${kind.era} ${kind.tool}, killed ${deaths.join(", then ")}: ${(error as Error).stack}`,
      );
    const talks = new Map<Run, Talk>();
    let deaths = 0;
    for (const run of runs) {
      try {
        talks.set(run, await play(server, kind, run.flow));
        await server.died(deaths += run.deaths.length);
      } catch (error) {
        differs(run, error);
        break;
      }
    }
    // Only now: nothing may have happened after the end of its flow either.
    await server.stop();
    server.assertNowhere(SECRET);
    for (const [run, talk] of talks) {
      try {
        assertSame({ ...talk, effects: server.effects(run.flow) }, alone);
        if (run.named) assert.equal(talk.calls, 1, "calls");
      } catch (error) {
        differs(run, error);
      }
    }
    return differences;
  });
}
