import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "../suite.ts";
import { assertSame } from "./compare.ts";
import { leftAlone } from "./every-point.ts";
import { type Kind, play, SECRET, type Story } from "./flows.ts";
import { inFolder } from "./folder.ts";
import { MortalServer } from "./mortal-server.ts";

const seed = Number(process.env["PARLEY_SEED"] ?? 20260107);
const FLOWS = 50;
const KILLS = 30;

const kinds: readonly Kind[] = [
  { era: "modern", tool: "order" },
  { era: "legacy", tool: "order" },
  { era: "modern", tool: "lease" },
  { era: "legacy", tool: "lease" },
];

/** Pseudo-random numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe("a server that is killed at random moments, with many flows running", () => {
  it(
    `loses none of ${FLOWS} flows in ${KILLS} deaths, and runs none twice (seed ${seed})`,
    async () => {
      const alone = new Map<Kind, Story>();
      for (const kind of kinds) alone.set(kind, (await leftAlone(kind)).story);
      await inFolder(async (folder) => {
        const random = randomFrom(seed);
        let lives = 0;
        // A server starts by reviving what was running: that may be cut short too.
        const server = new MortalServer(folder, () => ({
          commits: ++lives > KILLS ? undefined : 1 + Math.floor(random() * 100),
        }));
        try {
          const flows = Array.from({ length: FLOWS }, (_, n) => kinds[n % kinds.length]!);
          const talks = await Promise.all(flows.map((kind, n) => play(server, kind, `${n}`)));
          assert.equal(server.deaths, KILLS);
          await server.stop();
          talks.forEach((talk, n) =>
            assertSame({ ...talk, effects: server.effects(`${n}`) }, alone.get(talk.kind)!)
          );
        } finally {
          await server.stop();
          server.assertNowhere(SECRET);
        }
      });
    },
    { within: 300_000 },
  );
});
