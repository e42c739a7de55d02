/** `parley test`: runs the tests of a project on the runtime of this program. */
import process from "node:process";
import { spawn } from "node:child_process";
import { action, type Operation } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { testCommand } from "../../platform/self.ts";
import { FAILED, Problem } from "../problem.ts";
import { useSignals } from "../signals.ts";

export function* test(files: readonly string[]): Operation<number> {
  const runner = testCommand(files);
  if (!runner) {
    throw new Problem(
      "Cannot run tests: this program was compiled with Deno, which contains no test runner; run deno test -A",
    );
  }
  // Ctrl-C reaches the tests too. Keep running until they have ended.
  yield* useSignals();
  return yield* action<number>((resolve, reject) => {
    const child = spawn(runner.command, runner.args, {
      stdio: "inherit",
      env: { ...process.env, ...runner.env },
    });
    child.once(
      "error",
      (error) =>
        reject(new Problem(`Cannot run tests: ${messageOf(error)}; try deno test -A, or bun test`)),
    );
    child.once("exit", (code) => resolve(code ?? FAILED));
    return () => void child.kill();
  });
}
