/** Runs child processes. */
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
  /** The output so far. */
  readonly said: { stdout: string; stderr: string };
  /**
   * Waits for the exit code. Undefined if a signal ended the child. Throws if the child cannot be
   * started.
   */
  ended(): Operation<number | undefined>;
}

/** Starts a program. It is killed if it still runs when the surrounding scope ends. */
export function useChild({ command, args, cwd, env }: ChildCommand): Operation<Child> {
  return resource(function* (provide) {
    const child = spawn(command, args, { cwd, env: { ...env }, stdio: "pipe" });
    const said = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => said.stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text) => said.stderr += text);
    // The child may exit before it has read all of its input.
    child.stdin.on("error", () => {});
    const closed = new Promise<number | undefined>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? undefined));
    });
    // `ended()` throws the error. If nobody calls it, the rejection must not end the process.
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
