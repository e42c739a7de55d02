/** A server that identifies its callers, and callers that try to exceed their share. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { root } from "../../tests/harness/files.ts";
import { type RuntimeName, useRuntime } from "../../tests/harness/toolchain.ts";
import { residentOf } from "./kit.ts";

export interface Standing {
  /** Megabytes of live heap. */
  readonly heap: number;
  readonly live: number;
  readonly finished: number;
  readonly streams: number;
  readonly clientSessions: number;
}

export class SharedServer {
  exited = false;

  private constructor(readonly child: ChildProcess, readonly url: string) {}

  /** `checkout` is the folder of the server's code. Default: this checkout. */
  static async start(
    runtime: RuntimeName,
    callers: "named" | "anonymous",
    store?: string,
    checkout = process.env["PARLEY_EXHAUST_CHECKOUT"] ?? root,
  ): Promise<SharedServer> {
    const flags = runtime === "deno"
      ? ["run", "-A", "--no-check", "--v8-flags=--expose-gc"]
      : ["--expose-gc"];
    const file = join(checkout, "bench/servers/parley-exhaust.ts");
    const child = spawn(useRuntime(runtime).path, [
      ...flags,
      file,
      callers,
      ...store ? [store] : [],
    ], {
      cwd: checkout,
      stdio: ["ignore", "pipe", "ignore"],
    });
    process.once("exit", () => child.kill("SIGKILL"));
    const [port] = await once(createInterface({ input: child.stdout }), "line");
    const server = new SharedServer(child, `http://127.0.0.1:${port}`);
    child.once("exit", () => server.exited = true);
    return server;
  }

  /** Megabytes of memory that the process uses. */
  get memory(): number {
    return this.exited ? NaN : residentOf(this.child.pid!);
  }

  async standing(): Promise<Standing> {
    return await (await fetch(`${this.url}/standing`)).json();
  }

  async stop(): Promise<void> {
    if (this.exited) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }
}

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";

/** Calls a tool as a modern client, and returns the status. */
export async function call(
  server: SharedServer,
  name: string,
  args: object,
  { as, client = "exhaust" }: { as?: string; client?: string } = {},
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": "tools/call",
      "mcp-name": name,
      ...(as !== undefined && { "x-name": as }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name,
        arguments: args,
        _meta: {
          [`${META}protocolVersion`]: VERSION,
          [`${META}clientInfo`]: { name: client, version: "1" },
          [`${META}clientCapabilities`]: { elicitation: { form: {} } },
        },
      },
    }),
  });
  return { status: response.status, text: await response.text() };
}

/** Opens a client session and returns its id. Undefined if the server refused it. */
export async function initialize(server: SharedServer, as: string): Promise<string | undefined> {
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-name": as,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "exhaust", version: "1" },
      },
    }),
  });
  await response.text();
  return response.headers.get("mcp-session-id") ?? undefined;
}

/** The status of a request in a client session. */
export async function ping(server: SharedServer, as: string, session: string): Promise<number> {
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": session,
      "x-name": as,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  await response.text();
  return response.status;
}

/** Runs an action `count` times, `atOnce` at a time. Stops if the server no longer answers. */
export async function times(
  count: number,
  atOnce: number,
  act: (n: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failures = 0;
  const worker = async () => {
    while (next < count && failures < 20) {
      const n = next++;
      await act(n).catch(() => void failures++);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
