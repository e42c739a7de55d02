/** Playing a flow with the server's death at every point of it in turn. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { assertSame } from "./compare.ts";
import { type Kind, play, SECRET, type Story } from "./flows.ts";
import { inFolder } from "./folder.ts";
import type { KillPlan } from "./kill-points.ts";
import { MortalServer } from "./mortal-server.ts";

/** How many servers are killed side by side. */
const CHAINS = 4;

/** A flow, and the point at which its server dies; then the one at which the next server dies, … */
interface Run {
  readonly flow: string;
  readonly deaths: readonly string[];
}

/** Plays it without a kill: what it must come to, and the points that there are. */
export async function leftAlone(kind: Kind): Promise<{ story: Story; points: string[] }> {
  return await inFolder(async (folder) => {
    const server = new MortalServer(folder, () => ({ record: join(folder, "points") }));
    try {
      const story = await play(server, kind, "alone");
      assert.equal(server.deaths, 0);
      return { story, points: server.points("alone") };
    } finally {
      await server.stop();
      server.assertNowhere(SECRET);
    }
  });
}

/**
 * Plays one flow after the other, each with the server's death at its own point. The
 * server that comes after a death serves that flow to its end, and then the next.
 */
async function chain(kind: Kind, runs: readonly Run[], alone: Story): Promise<string[]> {
  return await inFolder(async (folder) => {
    const deaths = runs.flatMap(({ flow, deaths }) => deaths.map((point) => ({ flow, point })));
    const plan = (): KillPlan => ({ kill: deaths.shift() });
    const server = new MortalServer(folder, plan);
    const differences: string[] = [];
    try {
      let expected = 0;
      for (const { flow, deaths } of runs) {
        const what = `${kind.era} ${kind.tool}, killed ${deaths.join(", then ")}`;
        try {
          const story = await play(server, kind, flow);
          expected += deaths.length;
          await server.died(expected);
          assertSame(story, alone);
        } catch (error) {
          differences.push(`${what}: ${(error as Error).stack}`);
          break;
        }
      }
    } finally {
      await server.stop();
      server.assertNowhere(SECRET);
    }
    return differences;
  });
}

/** Kills a server at every point of a flow in turn; there must be so many points at least. */
export async function everyPoint(kind: Kind, atLeast: number): Promise<void> {
  const { story, points } = await leftAlone(kind);
  assert.equal(new Set(points).size, points.length, "every point has a name of its own");
  assert.ok(points.length >= atLeast, `there are only ${points.length} points`);
  const runs: Run[] = points.map((point, i) => ({ flow: `${i}`, deaths: [point] }));
  const chains = Array.from({ length: CHAINS }, (_, n) => runs.filter((_, i) => i % CHAINS === n));
  const differences = await Promise.all(chains.map((runs) => chain(kind, runs, story)));
  assert.deepEqual(differences.flat(), []);
}
