/**
 * Calls over stdio, one after another and many at once, compared with a minimal program that only
 * parses and answers lines, and with other SDKs.
 *
 *     deno task bench stdio
 */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { ratio } from "./kit/compare.ts";
import { find, spreadOf } from "./kit/findings.ts";
import { cpuOf, installPeers, serverCommand, type ServerName } from "./kit/processes.ts";

const NAMES: readonly ServerName[] = ["bare", "parley", "v2", "v1", "fastmcp"];
const ROUNDS = 5;
const WARM_UP = 4_000;
const CALLS = 15_000;
/** The number of calls that run at once. */
const AHEAD = 16;

class StdioServer {
  readonly child: ChildProcess;
  readonly #waiting = new Map<number, (text: string) => void>();
  #rest = "";
  #id = 0;

  constructor(name: ServerName) {
    const [path, ...args] = serverCommand(name, undefined, true);
    this.child = spawn(path, args, { stdio: ["pipe", "pipe", "inherit"] });
    process.once("exit", () => this.child.kill("SIGKILL"));
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.#rest + text).split("\n");
      this.#rest = lines.pop()!;
      for (const line of lines) this.#take(JSON.parse(line));
    });
  }

  #take({ id, result }: { id: number; result?: { content?: { text: string }[] } }): void {
    this.#waiting.get(id)?.(result?.content?.[0]?.text ?? "");
    this.#waiting.delete(id);
  }

  request(method: string, params: object): Promise<string> {
    const id = ++this.#id;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.notify({ id, method, params });
    });
  }

  notify(message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  async initialize(): Promise<void> {
    const clientInfo = { name: "bench", version: "1.0.0" };
    const protocolVersion = "2025-11-25";
    await this.request("initialize", { protocolVersion, capabilities: {}, clientInfo });
    this.notify({ method: "notifications/initialized" });
  }

  /** Seconds of CPU time for each call. */
  async calls(count: number): Promise<number> {
    const before = cpuOf(this.child.pid!);
    let next = 0;
    await Promise.all(Array.from({ length: AHEAD }, async () => {
      while (next < count) {
        const a = next++;
        const text = await this.request("tools/call", { name: "add", arguments: { a, b: 1 } });
        if (text !== String(a + 1)) {
          throw new Error(`Cannot count a call: not ${a + 1}, but ${text}`);
        }
      }
    }));
    return (cpuOf(this.child.pid!) - before) / count;
  }
}

installPeers();
const servers = NAMES.map((name) => ({ name, server: new StdioServer(name), cpu: [] as number[] }));
for (const { name, server } of servers) {
  if (name !== "bare") await server.initialize();
  await server.calls(WARM_UP);
}
for (let round = 0; round < ROUNDS; round++) {
  for (let i = 0; i < servers.length; i++) {
    const { server, cpu } = servers[(i + round) % servers.length]!;
    cpu.push(await server.calls(CALLS));
  }
}
for (const { name, server, cpu } of servers) {
  server.child.kill("SIGKILL");
  console.log(`  ${name.padEnd(16)} ${(spreadOf(cpu).value * 1e6).toFixed(1)} µs of CPU a call`);
}
const [bare, parley, v2, v1, fastmcp] = servers.map(({ cpu }) => cpu);
find("stdio", "stdio call, share of the bare runtime's", ratio(bare!, parley!), "×");
find("stdio-v2", "stdio call, times the v2 SDK's", ratio(v2!, parley!), "×");
find("stdio-v1", "stdio call, times the v1 SDK's", ratio(v1!, parley!), "×");
find("stdio-fastmcp", "stdio call, times fastmcp's", ratio(fastmcp!, parley!), "×");
