/**
 * Runs the same work on several servers in turn, so that other load on the machine affects all of
 * them. Ratios are computed within each round, and then compared across rounds.
 */
import { type Spread, spreadOf } from "./findings.ts";
import type { Era, Work } from "./flows.ts";
import { Driver, installPeers, Server, type ServerName } from "./processes.ts";

export interface Subject {
  readonly server: ServerName;
  readonly era: Era;
  readonly work: Work;
}

/** One number for each round. */
export interface Series {
  /** Microseconds of the server's CPU time for each flow. */
  readonly cpu: number[];
  /** Flows a second. */
  readonly rate: number[];
  /** Milliseconds. */
  readonly p99: number[];
  readonly chunks: number[];
}

export interface Load {
  readonly rounds: number;
  readonly ms: number;
  readonly users: number;
}

const LOAD: Load = { rounds: 7, ms: 1_000, users: 16 };
/** Milliseconds of warm-up, in which runtimes compile hot code. */
const WARM_UP = 2_500;

/** The measurements of each subject, under the name `server era`. */
export async function compare(
  subjects: readonly Subject[],
  { rounds, ms, users }: Load = LOAD,
): Promise<(name: string) => Series> {
  installPeers();
  const driver = new Driver();
  const servers = new Map<ServerName, Server>();
  const all = new Map<string, Series>();
  try {
    for (const { server } of subjects) {
      if (!servers.has(server)) servers.set(server, await Server.start(server));
    }
    const run = async ({ server: name, era, work }: Subject, time: number) => {
      const server = servers.get(name)!;
      const before = server.cpu;
      const { port } = server;
      const driven = await driver.run({ port, era, work, bare: name === "bare", users, ms: time });
      return { ...driven, cpu: (server.cpu - before) / driven.flows * 1e6 };
    };
    for (const subject of subjects) {
      await run(subject, WARM_UP);
      all.set(nameOf(subject), { cpu: [], rate: [], p99: [], chunks: [] });
    }
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < subjects.length; i++) {
        const subject = subjects[(i + round) % subjects.length]!;
        const { cpu, flows, seconds, p99, chunksPerFlow } = await run(subject, ms);
        const series = all.get(nameOf(subject))!;
        series.cpu.push(cpu);
        series.rate.push(flows / seconds);
        series.p99.push(p99);
        series.chunks.push(chunksPerFlow);
      }
    }
  } finally {
    driver.stop();
    for (const server of servers.values()) server.stop();
  }
  for (const [name, { cpu, rate, p99 }] of all) print(name, cpu, rate, p99);
  return (name) => {
    const series = all.get(name);
    if (!series) throw new Error(`Cannot compare "${name}": it was not measured`);
    return series;
  };
}

function nameOf({ server, era }: Subject): string {
  return `${server} ${era}`;
}

function print(name: string, cpu: number[], rate: number[], p99: number[]): void {
  const [c, r, p] = [spreadOf(cpu), spreadOf(rate), spreadOf(p99)];
  console.log(
    `  ${name.padEnd(16)} ${c.value.toFixed(1).padStart(8)} µs of CPU a flow` +
      ` (${c.low.toFixed(1)} to ${c.high.toFixed(1)}),` +
      ` ${Math.round(r.value)} a second, p99 ${p.value.toFixed(1)} ms`,
  );
}

/** The ratio of the first to the second, round by round. */
export function ratio(one: readonly number[], other: readonly number[]): Spread {
  return spreadOf(one.map((value, round) => value / other[round]!));
}
