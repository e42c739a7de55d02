/** CPU instructions for each call, which other programs on the machine do not affect. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { find } from "./findings.ts";
import { Driver, Server } from "./processes.ts";

const MS = 2_000;

/** Measures the instructions of a call. Most virtual machines cannot count them; prints a note then. */
export async function instructionsPerCall(): Promise<void> {
  const probe = spawnSync("perf", ["stat", "-x,", "-e", "instructions:u", "true"], {
    encoding: "utf8",
  });
  if (probe.status !== 0 || !/^\d+,/m.test(probe.stderr)) {
    console.log("CPU instructions cannot be counted here: perf has no counter for them");
    return;
  }
  const driver = new Driver();
  const counted: number[] = [];
  for (const name of ["bare", "parley"] as const) {
    const server = await Server.start(name);
    const job = {
      port: server.port,
      era: "legacy",
      work: "call",
      bare: name === "bare",
      users: 16,
    } as const;
    await driver.run({ ...job, ms: MS });
    const perf = spawn(
      "perf",
      ["stat", "-x,", "-e", "instructions:u", "-p", `${server.child.pid}`],
      {
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    const { flows } = await driver.run({ ...job, ms: MS });
    counted.push(await countOf(perf) / flows);
    server.stop();
  }
  driver.stop();
  const [bare, parley] = counted as [number, number];
  find("call-instructions", "legacy call, instructions of the bare runtime's", parley / bare, "×");
}

async function countOf(perf: ChildProcess): Promise<number> {
  let said = "";
  perf.stderr!.setEncoding("utf8").on("data", (text) => said += text);
  perf.kill("SIGINT");
  await once(perf, "close");
  return Number(/^(\d+),/m.exec(said)?.[1]);
}
