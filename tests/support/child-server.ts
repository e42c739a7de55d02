/** The executable in its own process, under the runtime that runs the tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";

export interface ChildServer {
  readonly url: string;
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<void>;
}

/** Starts `src/main.ts serve …` on a free port, and waits until it prints its address. */
export async function serveModules(...modules: readonly string[]): Promise<ChildServer> {
  const name = currentRuntime();
  const run = name === "deno" ? ["run", "-A", "--no-check"] : ["run"];
  const args = [...run, "src/main.ts", "serve", ...modules, "--port", "0"];
  const child = spawn(useRuntime(name).path, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  try {
    return {
      url: await addressIn(child),
      async stop() {
        child.kill("SIGTERM");
        await exited;
      },
    };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/** Keeps reading, so that later output does not fill the pipes. */
function addressIn(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const hear = (chunk: string) => {
      printed += chunk;
      const address = /http:\/\/\S+\/mcp(?=\s)/.exec(printed)?.[0];
      if (address) resolve(address);
    };
    child.stdout!.setEncoding("utf8").on("data", hear);
    child.stderr!.setEncoding("utf8").on("data", hear);
    child.once("exit", () => reject(new Error(`It never said where it listens:\n${printed}`)));
  });
}

/** Runs a program to its end. */
export async function runProgram(
  [path, ...args]: readonly [string, ...string[]],
  env: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(path, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => stdout += chunk);
  child.stderr.setEncoding("utf8").on("data", (chunk) => stderr += chunk);
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}
