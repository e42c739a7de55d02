/** One caller with as many calls of 4 MB as it can have waiting, in memory and in a store. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, SharedServer, times } from "./callers.ts";
import { type Bench, pause, type Scenario } from "./kit.ts";

const DURABLE = 160;
const LONG = "x".repeat(4_150_000);
/** Megabytes that the server may use, whatever clients do. */
const MAX_MEMORY = 900;
/** Megabytes that the store may use, including its log of writes. */
const MAX_DISK = 1_300;

export const scenario: Scenario = { name: "waiting", run };

async function run(bench: Bench): Promise<void> {
  await inMemory(bench);
  await longNames(bench);
  await inStore(bench);
}

async function inMemory({ runtime, found, problem }: Bench): Promise<void> {
  const server = await SharedServer.start(runtime, "anonymous");
  const started = performance.now();
  const seen = new Map<number, number>();
  let peak = 0;
  await times(1_040, 4, async () => {
    const { status } = await call(server, "waits", { text: LONG });
    seen.set(status, (seen.get(status) ?? 0) + 1);
    peak = Math.max(peak, server.memory);
  });
  const ms = performance.now() - started;
  const figures = `1,040 calls of 4 MB: ${told(seen)} in ${(ms / 1_000).toFixed(1)} s`;
  if (server.exited) {
    found(`${figures}; the server died at ${peak.toFixed(0)} MB`);
    problem("the server died");
    return;
  }
  const { heap, live } = await server.standing();
  found(
    `${figures}; ${live} wait, ${peak.toFixed(0)} MB at most, live heap ${heap.toFixed(0)} MB`,
  );
  if (!(peak < MAX_MEMORY)) problem(`it took ${peak.toFixed(0)} MB`);
  if (!seen.has(200)) problem("nothing was accepted");
  if (!seen.has(503)) problem("nothing was refused");
  await server.stop();
}

async function longNames({ runtime, found, problem }: Bench): Promise<void> {
  const server = await SharedServer.start(runtime, "anonymous");
  const before = (await server.standing()).heap;
  await times(100, 4, async () => void await call(server, "waits", {}, { client: LONG }));
  const { heap, live } = await server.standing();
  const more = heap - before;
  found(`${live} calls of clients with a name of 4 MB: ${more.toFixed(1)} MB more live heap`);
  if (live === 0) problem("nothing was accepted");
  if (more > 20) problem("the names are kept");
  await server.stop();
}

async function inStore({ runtime, found, problem }: Bench): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "parley-exhaust-"));
  try {
    for (const as of [undefined, "mallory"]) {
      const store = join(folder, `${as}.db`);
      const server = await SharedServer.start(runtime, as ? "named" : "anonymous", store);
      const seen = new Map<number, number>();
      const started = performance.now();
      await times(DURABLE, 2, async () => {
        const keep = () => call(server, "keeps", { text: LONG }, { ...(as && { as }) });
        let { status, text } = await keep();
        // Earlier calls leave memory soon; the store does not shrink.
        for (let tries = 0; status === 503 && text.includes("memory") && tries < 5; tries++) {
          await pause(100);
          ({ status, text } = await keep());
        }
        seen.set(status, (seen.get(status) ?? 0) + 1);
      });
      const disk = readdirSync(folder).filter((name) => name.startsWith(`${as}.db`))
        .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / 1_000_000;
      const seconds = (performance.now() - started) / 1_000;
      found(
        `${DURABLE} durable calls of 4 MB by ${as ?? "nobody in particular"}: ${told(seen)} in ${
          seconds.toFixed(1)
        } s, ${disk.toFixed(0)} MB of disk, ${server.memory.toFixed(0)} MB of memory`,
      );
      if (!seen.has(200)) problem("nothing was accepted");
      if (disk > (as ? MAX_DISK / 3 : MAX_DISK)) problem(`the store took ${disk.toFixed(0)} MB`);
      const other = await call(server, "keeps", {}, { as: "ann" });
      if (as && other.status !== 200) problem(`another caller got ${other.status}`);
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function told(seen: ReadonlyMap<number, number>): string {
  return [...seen].map(([status, count]) => `${count} × ${status}`).join(", ") || "none answered";
}
