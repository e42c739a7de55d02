/** Programs that this one starts, and ends. */
import { action, type Operation, resource, until } from "effection";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string | undefined };
}

export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** What it has said so far. */
  readonly said: { stdout: string; stderr: string };
  /** Waits for the exit code; undefined if a signal ended it. Throws if it cannot be started. */
  ended(): Operation<number | undefined>;
}

/** Starts a program. It is killed when the surrounding scope ends, if it still runs by then. */
export function useChild({ command, args, cwd, env }: ChildCommand): Operation<Child> {
  return resource(function* (provide) {
    const child = spawn(command, args, { cwd, env: { ...env }, stdio: "pipe" });
    const said = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => said.stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text) => said.stderr += text);
    // It may be gone before it has read everything.
    child.stdin.on("error", () => {});
    const closed = new Promise<number | undefined>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? undefined));
    });
    // Whoever asks gets it; that nobody does is no fault.
    closed.catch(() => {});
    try {
      yield* provide({ process: child, said, ended: () => until(closed) });
    } finally {
      child.kill("SIGKILL");
      yield* action<void>((resolve) => {
        closed.then(() => resolve(), () => resolve());
        return () => {};
      });
    }
  });
}
