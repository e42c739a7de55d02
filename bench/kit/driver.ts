/**
 * Puts load on a server. The driver runs in its own process and always on the same runtime, so that
 * only the server differs in a comparison. It reads a job as a line of JSON, and prints the result
 * as a line of JSON.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { startUser, type Target } from "./flows.ts";

export interface Job extends Target {
  readonly users: number;
  /** The duration in milliseconds. */
  readonly ms: number;
}

export interface Driven {
  readonly flows: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly chunksPerFlow: number;
}

/** A flow that takes longer than this, in milliseconds, counts as lost. */
const LOST = 30_000;

function inTime<T>(flow: Promise<T>, { era, work }: Target): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`a ${era} ${work} was not answered`)), LOST);
  });
  return Promise.race([flow, late]).finally(() => clearTimeout(timer));
}

async function drive({ users: count, ms, ...target }: Job): Promise<Driven> {
  const users = await Promise.all(Array.from({ length: count }, () => startUser(target)));
  const times: number[] = [];
  let chunks = 0;
  let next = 1;
  const start = performance.now();
  const end = start + ms;
  try {
    await Promise.all(users.map(async (user) => {
      for (let now = performance.now(); now < end;) {
        const sent = await inTime(user.once(next++), target);
        chunks += sent;
        const then = performance.now();
        times.push(then - now);
        now = then;
      }
    }));
  } finally {
    for (const user of users) user.close();
  }
  const seconds = (performance.now() - start) / 1_000;
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!;
  const flows = times.length;
  return { flows, seconds, p50: at(0.5), p99: at(0.99), chunksPerFlow: chunks / flows };
}

if (import.meta.main) {
  for await (const line of createInterface({ input: process.stdin })) {
    const said = await drive(JSON.parse(line)).catch((error) => ({ problem: error.message }));
    process.stdout.write(`${JSON.stringify(said)}\n`);
  }
}
