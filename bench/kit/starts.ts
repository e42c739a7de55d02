/** Starts a program and measures the time to its first answer. */
import { spawn } from "node:child_process";
import { processorTime } from "./processes.ts";

/** Milliseconds. */
export interface Start {
  readonly wall: number;
  /** The CPU time of all threads. NaN if the system does not report it. */
  readonly processor: number;
}

export const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  },
});

/** Waits until the program prints its address on stderr, and sends one request. */
export async function startOverHttp(
  file: string,
  args: readonly string[],
  cwd?: string,
): Promise<Start> {
  const start = performance.now();
  const child = spawn(file, args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text) => {
        said += text;
        const address = /http:\S+(?=\s)/.exec(said)?.[0];
        if (address) resolve(address);
      });
      child.once("exit", () => reject(new Error(said)));
    });
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: initialize,
    });
    await response.text();
    return { wall: performance.now() - start, processor: processorTime(child.pid) };
  } finally {
    child.kill("SIGKILL");
  }
}

/** Sends everything at once, and waits for the answer to the last message. */
export async function startOverStdio(
  file: string,
  args: readonly string[],
  cwd?: string,
  messages: readonly string[] = [initialize],
): Promise<Start> {
  const start = performance.now();
  const child = spawn(file, args, { cwd, stdio: ["pipe", "pipe", "ignore"] });
  const { id } = JSON.parse(messages.at(-1)!);
  try {
    child.stdin.write(`${messages.join("\n")}\n`);
    await new Promise<void>((resolve, reject) => {
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text) => {
        said += text;
        const whole = said.split("\n").slice(0, -1);
        if (whole.some((line) => JSON.parse(line).id === id)) resolve();
      });
      child.once("exit", () => reject(new Error(said)));
    });
    return { wall: performance.now() - start, processor: processorTime(child.pid) };
  } finally {
    child.kill("SIGKILL");
  }
}
